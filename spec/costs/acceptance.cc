#include "tessera/spec/costs/acceptance.h"

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

constexpr float kFading = 0.99f;             // Per count: a count that is 70 counts old weighs half.
constexpr float kEstimateWeight = 2;         // An estimate counts as few guesses: a drafter that is always wrong is soon known.
constexpr float kWiderClassWeight = 8;       // And the share of the wider class.
constexpr float kLeast = 1e-4f, kMost = 0.995f;
constexpr float kEstimateEdges[] = {0.02f, 0.05f, 0.1f, 0.2f, 0.35f, 0.5f, 0.7f, 0.85f, 0.95f};
constexpr int kDepthEdges[] = {2, 3, 5, 9};  // 1, 2, 3 to 4, 5 to 8, and deeper.

template <typename Number, size_t count>
int ClassOf(Number value, const Number (&edges)[count]) {
  return static_cast<int>(std::upper_bound(std::begin(edges), std::end(edges), value) - std::begin(edges));
}

}  // namespace

int Acceptance::EstimateClass(float estimate) {
  static_assert(std::size(kEstimateEdges) + 1 == kEstimates);
  return ClassOf(estimate, kEstimateEdges);
}

int Acceptance::DepthClass(int depth) {
  static_assert(std::size(kDepthEdges) + 1 == kDepths);
  return ClassOf(depth, kDepthEdges);
}

void Acceptance::Counts::Add(bool was_accepted) {
  reached = reached * kFading + 1;
  accepted = accepted * kFading + (was_accepted ? 1 : 0);
}

float Acceptance::Counts::Share(float prior, float prior_weight) const {
  return (accepted + prior * prior_weight) / (reached + prior_weight);
}

float Acceptance::Probability(const Guess& guess) const {
  const int estimate_class = EstimateClass(guess.estimate);
  const float of_class = of_estimate_[estimate_class].Share(guess.estimate, kEstimateWeight);
  const float share = of_depth_[estimate_class][DepthClass(guess.depth)].Share(of_class, kWiderClassWeight);
  return std::clamp(share, kLeast, kMost);
}

void Acceptance::Add(const Guess& guess, bool accepted) {
  const int estimate_class = EstimateClass(guess.estimate);
  of_estimate_[estimate_class].Add(accepted);
  of_depth_[estimate_class][DepthClass(guess.depth)].Add(accepted);
}

}  // namespace tessera
