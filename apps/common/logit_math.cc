#include "tessera/apps/common/logit_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <glog/logging.h>

namespace tessera {

double LogSumExp(absl::Span<const float> logits) {
  CHECK(!logits.empty());
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

std::vector<TokenId> LargestLogits(absl::Span<const float> logits, int count) {
  const auto value = [&](TokenId token) {
    return std::isnan(logits[token]) ? -std::numeric_limits<float>::infinity() : logits[token];
  };
  std::vector<TokenId> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto end = tokens.begin() + std::min<size_t>(std::max(count, 0), tokens.size());
  std::partial_sort(tokens.begin(), end, tokens.end(), [&](TokenId a, TokenId b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  });
  tokens.erase(end, tokens.end());
  return tokens;
}

}  // namespace tessera
