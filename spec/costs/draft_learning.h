// What is learnt of drafters while texts are written: how often their guesses come true, whose estimates count, and which do not pay.
//
//   DraftLearning learning(/*drafters=*/2);
//   learning.acceptance[0].Add({.estimate = 0.9f, .depth = 1}, /*accepted=*/false);
//   learning.rules[1].active();                          // true: nothing was lost with the second so far
//
// Texts of one set have one of these together (SharedHistory::LearningOf): samples of a problem are alike, so what eight of them learn
// apart in sixteen steps, they know together after two. A value, without threads.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/spec/costs/acceptance.h"
#include "tessera/spec/costs/estimate_mixer.h"
#include "tessera/spec/costs/pause_rule.h"

namespace tessera {

struct DraftLearning {
  explicit DraftLearning(size_t drafters) : acceptance(drafters), rules(drafters) {}

  std::vector<Acceptance> acceptance;   // [drafter], in the order of their list,
  std::vector<PauseRule> rules;         // as these.
  PauseRule together = {};              // All of them, with what it takes to ask them: many small losses are one that counts.
  EstimateMixer mixer = {};

  static constexpr size_t kMostBytesPerDrafter = sizeof(Acceptance) + sizeof(PauseRule);
};

}  // namespace tessera
