#include "tessera/spec/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

TopTokens TopTokensOf(absl::Span<const float> logits, int count) {
  TopTokens top;  // Holds logits until the end.
  const auto before = [](const TopToken& a, const TopToken& b) { return a.probability > b.probability; };
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool full = static_cast<int>(top.size()) == count;
    if (full && count == 0) break;
    if (!(logits[i] > (full ? top.back().probability : -std::numeric_limits<float>::infinity()))) continue;
    if (full) top.pop_back();
    const TopToken entry = {static_cast<TokenId>(i), logits[i]};
    top.insert(std::upper_bound(top.begin(), top.end(), entry, before), entry);
  }
  if (top.empty()) return top;
  const float largest = top.front().probability;
  double sum = 0;
  for (const float logit : logits) {
    if (logit > -std::numeric_limits<float>::infinity()) sum += std::exp(static_cast<double>(logit) - largest);
  }
  for (TopToken& entry : top) entry.probability = static_cast<float>(std::exp(static_cast<double>(entry.probability) - largest) / sum);
  return top;
}

}  // namespace tessera
