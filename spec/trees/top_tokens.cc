#include "tessera/spec/trees/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tessera/base/candidates.h"

namespace tessera {
namespace {

typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Words __attribute__((vector_size(16)));

constexpr size_t kChunk = 128;   // Measured: 64 and 128 are the fastest.
constexpr size_t kBlock = 16;    // A cache line.
constexpr size_t kPart = 4;      // One of kPart blocks stands for the others.
constexpr size_t kExact = 8;    // Fewest candidates summed one by one; the rest is many small parts.

// exp(x) within 4 %, and 3e-4 on average over a stretch of x; 0 below -87 and for NaN. The bits of a number are nearly the number's
// logarithm (Schraudolph 1999).
Floats RoughExp(Floats x) {
  constexpr float kPerUnit = 0x1p23f * 1.44269504f, kOne = 127 * 0x1p23f, kBalance = 486411;
  const Floats bits = x * kPerUnit + (kOne - kBalance);
  const Words whole = __builtin_convertvector(bits > 0 ? bits : Floats{}, Words);
  Floats result;
  std::memcpy(&result, &whole, sizeof(result));
  return result;
}

Floats SumOfBlock(const float* block, float largest) {
  Floats sum = {};
  for (size_t i = 0; i < kBlock; i += 4) {
    Floats some;
    std::memcpy(&some, block + i, sizeof(some));
    sum += RoughExp(some - largest);
  }
  return sum;
}

// Returns the sum of exp(logit - largest) over all logits except `top`, estimated from a part of the logits.
double RestOfSum(absl::Span<const float> logits, absl::Span<const Candidate> top) {
  const size_t part = logits.size() < kPart * kChunk ? 1 : kPart;
  const float largest = top.front().logit;
  Floats sums = {};
  size_t begin = 0;
  for (; begin + kBlock <= logits.size(); begin += part * kBlock) sums += SumOfBlock(&logits[begin], largest);
  if (begin < logits.size()) {
    float block[kBlock];
    std::fill(std::copy(logits.begin() + begin, logits.end(), block), block + kBlock, -std::numeric_limits<float>::infinity());
    sums += SumOfBlock(block, largest);
  }
  double sum = (static_cast<double>(sums[0]) + sums[1]) + (static_cast<double>(sums[2]) + sums[3]);
  for (const Candidate& candidate : top) {
    if (candidate.id / kBlock % part == 0) sum -= RoughExp(Floats{} + (candidate.logit - largest))[0];
  }
  return std::max(sum, 0.0) * static_cast<double>(part);
}

}  // namespace

TopTokens TopTokensOf(absl::Span<const float> logits, int count) {
  TopCandidates candidates(std::max<size_t>(count, kExact));
  for (size_t begin = 0; begin < logits.size(); begin += kChunk) candidates.Add(static_cast<TokenId>(begin), logits.subspan(begin, kChunk));
  const std::vector<Candidate> ranked = candidates.Take();
  TopTokens top;
  if (ranked.empty() || count <= 0) return top;
  double sum = RestOfSum(logits, ranked);
  for (const Candidate& candidate : ranked) {
    const float largest = ranked.front().logit;
    const double weight = candidate.logit == largest ? 1 : std::exp(static_cast<double>(candidate.logit) - largest);
    sum += weight;
    if (top.size() < static_cast<size_t>(count)) top.push_back({candidate.id, static_cast<float>(weight)});
  }
  for (TopToken& entry : top) entry.probability = static_cast<float>(entry.probability / sum);
  return top;
}

}  // namespace tessera
