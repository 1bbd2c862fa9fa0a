// Everything learnt about drafters during decoding: how often guesses come true, whose estimates count, and which drafters do not pay.
//
//   DraftLearning learning(/*drafters=*/2);
//   learning.acceptance[0].Add({.estimate = 0.9f, .depth = 1}, /*accepted=*/false);
//   learning.rules[1].active();                          // true: nothing was lost with the second so far
//
// The texts of one set share one DraftLearning (SharedHistory::LearningOf). Samples of a problem are alike: eight texts together know after
// two steps as much as each alone after sixteen. A value, without threads.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/spec/costs/acceptance.h"
#include "tessera/spec/costs/estimate_mixer.h"
#include "tessera/spec/costs/pause_rule.h"

namespace tessera {

struct DraftLearning {
  explicit DraftLearning(size_t drafters) : acceptance(drafters), rules(drafters) {}

  std::vector<Acceptance> acceptance;   // [drafter], in the order of the drafters' list,
  std::vector<PauseRule> rules;         // in the same order.
  PauseRule together = {};              // All drafters, with the time to ask them: many small losses are one that counts.
  EstimateMixer mixer = {};

  static constexpr size_t kMostBytesPerDrafter = sizeof(Acceptance) + sizeof(PauseRule);
};

}  // namespace tessera
