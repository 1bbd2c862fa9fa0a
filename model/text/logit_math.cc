#include "tessera/model/text/logit_math.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

#include <glog/logging.h>

#include "tessera/base/elementary.h"

namespace tessera {
namespace {

// Four numbers side by side: every CPU of 64 bits has registers for them. Always four, for the same result everywhere.
using Floats = float __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));

// Returns exp(x) with a relative error of at most 2e-7 for x <= 0; e^-87 below -87. NaN for NaN.
inline Floats ExpBelowZero(Floats x) {
  constexpr float kRounder = 0x1.8p23f;  // When added, leaves a whole number in the lowest bits.
  x = x < -87.0f ? Floats{-87, -87, -87, -87} : x;
  const Floats rounded = x * 0x1.715476p0f + kRounder;
  const Floats n = rounded - kRounder;
  const Floats rest = x - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;  // ln 2 in two parts.
  Floats power = rest * (1 / 5040.0f) + 1 / 720.0f;  // Taylor's series: the next term is below the last digit.
  for (const float factor : {1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f, 1.0f, 1.0f}) power = power * rest + factor;
  return power * reinterpret_cast<Floats>((reinterpret_cast<Words>(rounded) + 127) << 23);
}

}  // namespace

double LogSumExp(absl::Span<const float> logits) {
  CHECK(!logits.empty());
  const float first = logits[0];
  Floats some, most = {first, first, first, first};
  const size_t whole = logits.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    std::memcpy(&some, &logits[i], sizeof some);
    most = most < some ? some : most;
  }
  for (size_t i = whole; i < logits.size(); ++i) most[0] = std::max(most[0], logits[i]);
  const float largest = std::max({most[0], most[1], most[2], most[3]});
  Doubles sums = {};
  for (size_t i = 0; i < whole; i += 4) {
    std::memcpy(&some, &logits[i], sizeof some);
    sums += __builtin_convertvector(ExpBelowZero(some - largest), Doubles);
  }
  for (size_t i = whole; i < logits.size(); ++i) sums[0] += ExpBelowZero(Floats{} + (logits[i] - largest))[0];
  return largest + elementary::Log((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

double MeanLogit(absl::Span<const float> logits) {
  CHECK(!logits.empty());
  Floats some;
  Doubles sums = {};
  const size_t whole = logits.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    std::memcpy(&some, &logits[i], sizeof some);
    sums += __builtin_convertvector(some, Doubles);
  }
  for (size_t i = whole; i < logits.size(); ++i) sums[0] += logits[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<double>(logits.size());
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
