// Measures how often a drafter's guesses come true, and corrects the drafter's estimates.
//
//   Acceptance acceptance;
//   acceptance.Add({.estimate = 0.9f, .depth = 1}, /*accepted=*/false);     // the text went elsewhere
//   acceptance.Probability({.estimate = 0.9f, .depth = 1});                 // 0.53: less than 0.9 already
//
// Counts are kept for classes of estimates and, within an estimate class, for classes of depths. A class with few counts leans on the wider
// class, and the wider class on the estimate. Old counts fade, since texts change. Depends on the added guesses alone, never on time.
// Thread-compatible.
#pragma once

#include <array>

#include "tessera/base/cpp20.h"

namespace tessera {

// A node that a drafter proposed.
struct Guess {
  float estimate = 0;   // The drafter's probability that the guess comes next if its parent is right; in (0, 1].
  int depth = 1;        // From 1, the root's children.
};

class Acceptance {
 public:
  // Returns the probability that the guess comes true if the parent does, in (0, 1).
  float Probability(const Guess& guess) const;

  // Learns from a guess whose parent came true, verified or not: the token that came is known in any case.
  void Add(const Guess& guess, bool accepted);

 private:
  static constexpr int kEstimates = 10, kDepths = 5;
  struct Counts {
    float reached = 0, accepted = 0;
    void Add(bool was_accepted);
    float Share(float prior, float prior_weight) const;
  };
  static int EstimateClass(float estimate);
  static int DepthClass(int depth);

  std::array<Counts, kEstimates> of_estimate_;
  std::array<std::array<Counts, kDepths>, kEstimates> of_depth_;
};

}  // namespace tessera
