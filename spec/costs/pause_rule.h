// Pauses a drafter that loses time, and tries the drafter again later. The rule judges the drafter's gains and costs.
//
//   PauseRule rule;
//   if (rule.active()) {
//     ... draft, verify ...
//     rule.Add({.gain = -0.4, .fixed_cost = 0.01});       // in plain steps: this one took 40 % more, and gave nothing for it
//   } else {
//     rule.Skip();
//   }
//
// A loss of three plain steps, or a mean loss above one percent, ends in a pause. Each pause ends in a trial of eight steps. While trials
// lose, too, each pause is twice as long, at first. If the fixed cost of a trial is high, pauses are so long that trials take no more than
// one percent. Depends on the given steps alone, never on time. Thread-compatible.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

class PauseRule {
 public:
  struct Step {
    double gain = 0;         // Saved time less all cost, as a share of a plain step.
    double fixed_cost = 0;   // The cost in any case, even without a gain.
  };

  bool active() const { return left_ == 0; }
  // Adds a step in which the drafter was active. REQUIRES: active().
  void Add(const Step& step);
  // Counts a step of a pause. REQUIRES: !active().
  void Skip();

  int64_t pauses() const { return pauses_; }
  int64_t skipped() const { return skipped_; }
  int left() const { return left_; }         // Steps of a pause that are still to come.
  double loss() const { return loss_; }      // The mean loss that led to the last pause.

 private:
  void Pause(const Step& last);

  double gain_ = 0, steps_ = 0;              // Since the last pause, fading.
  bool trial_ = false;
  int length_ = 0;                           // The last pause; 0 once the drafter gains again.
  int left_ = 0;
  int64_t pauses_ = 0, skipped_ = 0;
  double loss_ = 0;
};

}  // namespace tessera
