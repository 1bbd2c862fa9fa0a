#include "tessera/spec/costs/estimate_mixer.h"

#include <algorithm>
#include <cmath>

#include "glog/logging.h"

namespace tessera {
namespace {

// Chosen by expected tokens per second on frozen costs. Doubling or halving changes that rate by up to 3 %, in either direction.
constexpr float kSetStep = 0.01f, kAllStep = 0.02f;
constexpr float kLeastOdds = -6.9f, kMostOdds = 5.8f;   // Logarithms: of one in a thousand, and of 0.997.
constexpr float kLeastSum = -9, kMostSum = 6;

}  // namespace

void Estimates::Add(int source, float probability) {
  CHECK(source >= 0 && source < kMostSources && probability > 0 && probability < 1);
  const float odds = std::clamp(std::log(probability / (1 - probability)), kLeastOdds, kMostOdds);
  terms_[kLargest] = sources_ == 0 ? odds : std::max(terms_[kLargest], odds);
  terms_[source] = odds;
  terms_[kConstant] = 1;
  sources_ |= uint32_t{1} << source;
}

float EstimateMixer::Sum(const Weights& weights, const Estimates& said) {
  float sum = 0;
  for (int term = 0; term < Estimates::kTerms; ++term) sum += weights[term] * said.terms_[term];
  return sum;
}

void EstimateMixer::Step(float length, const Estimates& said, Weights& weights) {
  for (int term = 0; term < Estimates::kTerms; ++term) weights[term] += length * said.terms_[term];
}

std::vector<float> EstimateMixer::Mix(const TokenTree& tree, absl::Span<const Estimates> said) const {
  std::vector<float> chances(tree.size(), 1), sums(tree.size(), 1);
  for (int node = 1; node < tree.size(); ++node) {
    const Estimates& of = said[node];
    const float sum = of.terms_[Estimates::kLargest] + Sum(of_all_, of) + Sum(of_set_[of.sources_], of);
    chances[node] = std::exp(std::clamp(sum, kLeastSum, kMostSum));
    sums[tree[node].parent] += chances[node];
  }
  for (int node = 1; node < tree.size(); ++node) chances[node] /= sums[tree[node].parent];
  return chances;
}

// Follows the gradient of the logarithm of the chance of the token that came. For each sibling this is (came - chance), times the sibling's
// terms.
void EstimateMixer::Learn(const TokenTree& tree, absl::Span<const Estimates> said, absl::Span<const TokenId> emitted) {
  const std::vector<float> chances = Mix(tree, said);
  int parent = TokenTree::kRoot;
  for (const TokenId token : emitted) {
    int next = TokenTree::kNone;
    for (int node = parent + 1; node < tree.size(); ++node) {
      if (tree[node].parent != parent) continue;
      const bool came = tree[node].token == token;
      const float error = (came ? 1 : 0) - chances[node];
      Step(kAllStep * error, said[node], of_all_);
      Step(kSetStep * error, said[node], of_set_[said[node].sources_]);
      if (came) next = node;
    }
    if (next == TokenTree::kNone) return;
    parent = next;
  }
}

}  // namespace tessera
