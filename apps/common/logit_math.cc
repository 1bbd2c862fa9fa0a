#include "tessera/apps/common/logit_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <glog/logging.h>

namespace tessera {
namespace {

constexpr int kLanes = 8;  // Sums side by side, so that the compiler makes vectors of them; always so many, for the same result everywhere.

// exp(x) to the last digits for x <= 0; below -700, e^-700. NaN for NaN. Without branches or calls, for the same reason.
inline double ExpBelowZero(double x) {
  constexpr double kTimes[] = {1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0,
                               1 / 120.0,       1 / 24.0,       1 / 6.0,       1 / 2.0,      1.0,         1.0};
  constexpr double kRounder = 0x1.8p52;  // Added, it leaves a whole number in the lowest bits.
  x = std::max(x, -700.0);
  const double rounded = x * 0x1.71547652b82fep0 + kRounder;
  const double n = rounded - kRounder;
  const double rest = x - n * 0x1.62e42fefa0000p-1 - n * 0x1.cf79abc9e3b3ap-40;  // ln 2 in two parts.
  double power = 0;
  for (const double factor : kTimes) power = power * rest + factor;
  return power * std::bit_cast<double>((std::bit_cast<uint64_t>(rounded) + 1023) << 52);
}

}  // namespace

double LogSumExp(absl::Span<const float> logits) {
  CHECK(!logits.empty());
  const size_t whole = logits.size() / kLanes * kLanes;
  float most[kLanes];
  std::fill(most, most + kLanes, logits[0]);
  for (size_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) most[lane] = std::max(most[lane], logits[i + lane]);
  }
  for (size_t i = whole; i < logits.size(); ++i) most[i - whole] = std::max(most[i - whole], logits[i]);
  const double largest = *std::max_element(most, most + kLanes);
  double sums[kLanes] = {};
  for (size_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += ExpBelowZero(logits[i + lane] - largest);
  }
  for (size_t i = whole; i < logits.size(); ++i) sums[i - whole] += ExpBelowZero(logits[i] - largest);
  return largest + std::log(std::accumulate(sums, sums + kLanes, 0.0));
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
