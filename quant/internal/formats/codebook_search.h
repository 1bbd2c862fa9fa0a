// The choice of an FP16 scale and of codes for a block, in formats of 32 values with a code book (IQ4_NL, T2, T3).
//
//   const CodebookBlock block = SearchCodebook<kT2Codebook, /*kBits=*/2>(kEnds, in, /*importance=*/nullptr);   // 32 values
//   // Value i is about HalfToFloat(block.scale) * kT2Codebook[block.codes[i]].
//
// The largest value meets one of the ends of the code book, or a number beyond or within it. Several such numbers are tried, each with a
// scale improved by least squares. The smallest sum of squared errors, each times the importance of its value, wins; of equal sums the
// first. So equal values always give an equal block.
//
// tests/quant/quantize_test.cc checks that the error is below the error of rounding to the nearest. Thread-safe (pure functions).
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

struct CodebookBlock {
  static constexpr int kValues = 32;

  uint8_t codes[kValues];
  uint16_t scale = 0;  // FP16.
};

// Returns the code with the nearest number, by halving the code book at the middles between its numbers.
template <const Codebook& kNumbers, int kBits>
int NearestCode(float number) {
  int code = 0;
  for (int half = 1 << (kBits - 1); half > 0; half /= 2) {
    const int above = code + half;
    if (2 * number > static_cast<float>(kNumbers[above - 1] + kNumbers[above])) code = above;
  }
  return code;
}

// The nearest codes under a scale, with the resulting sums.
template <const Codebook& kNumbers, int kBits>
struct EncodedBlock {
  uint8_t codes[CodebookBlock::kValues];
  float product = 0, square = 0;  // Sums over the block of number * value, number * number. No number or weight is 0, so square is not 0.
  float error = 0;                // Sum of squared errors.

  // weights: the output of CopyImportance.
  EncodedBlock(const float* x, const float* weights, float d) {
    const float inverse = d == 0 ? 0 : 1 / d;
    for (int i = 0; i < CodebookBlock::kValues; ++i) {
      codes[i] = static_cast<uint8_t>(NearestCode<kNumbers, kBits>(x[i] * inverse));
      const float number = kNumbers[codes[i]], difference = d * number - x[i];
      product += weights[i] * (number * x[i]);
      square += weights[i] * (number * number);
      error += weights[i] * (difference * difference);
    }
  }
};

// Finds the best block. ends: candidates for the largest value, in numbers of the code book, with either sign, because the scale has either
// sign. NaN counts as 0; numbers beyond the format's range, infinities too, count as the format's largest number. importance: of 32 values,
// or null: all equal. REQUIRES: the first 2^kBits numbers ascend, none is 0, and the first one has the largest magnitude.
template <const Codebook& kNumbers, int kBits>
CodebookBlock SearchCodebook(absl::Span<const float> ends, const float* in, const float* importance) {
  using Encoded = EncodedBlock<kNumbers, kBits>;
  float x[CodebookBlock::kValues], weights[CodebookBlock::kValues];
  CopyImportance(importance, CodebookBlock::kValues, weights);
  CopyWithin(kLargestHalf * static_cast<float>(-kNumbers[0]), in, CodebookBlock::kValues, x);
  const float largest = LargestSigned(x, CodebookBlock::kValues);
  CodebookBlock block;
  Encoded best(x, weights, 0);
  for (const float end : ends) {
    const Encoded first(x, weights, largest / end);
    const uint16_t scale = FiniteHalf(first.product / first.square);
    const Encoded second(x, weights, HalfToFloat(scale));
    if (second.error < best.error) best = second, block.scale = scale;
  }
  std::copy_n(best.codes, CodebookBlock::kValues, block.codes);
  return block;
}

}  // namespace tessera
