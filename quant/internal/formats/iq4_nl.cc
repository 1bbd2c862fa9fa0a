// IQ4_NL: 32 values around zero in 18 bytes, laid out as Q4_0, but a code stands for a number of a code book. A value is
// d * code book[q].
#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 18;

// The code whose number is nearest, by halving the code book at the middles between its numbers.
int NearestCode(float number) {
  int code = 0;
  for (const int half : {8, 4, 2, 1}) {
    const int above = code + half;
    if (2 * number > static_cast<float>(kIq4NlCodebook[above - 1] + kIq4NlCodebook[above])) code = above;
  }
  return code;
}

// The codes that are nearest under a scale, and what came of them.
struct Encoded {
  uint8_t codes[kValues];
  float product = 0, square = 0;  // Sums over the block of number * value, number * number.
  float error = 0;                // Sum of squares.

  Encoded(const float* x, float d) {
    const float inverse = d == 0 ? 0 : 1 / d;
    for (int i = 0; i < kValues; ++i) {
      codes[i] = static_cast<uint8_t>(NearestCode(x[i] * inverse));
      const float number = kIq4NlCodebook[codes[i]], difference = d * number - x[i];
      product += number * x[i];
      square += number * number;
      error += difference * difference;
    }
  }
};

// The largest value meets one of the ends of the code book, or a number beyond or within it: each is tried, and the scale
// improved by least squares.
Encoded SearchBlock(const float* x, uint16_t* d) {
  const float largest = LargestSigned(x, kValues);
  *d = 0;
  Encoded best(x, 0);
  for (const float end : {-143.0f, -135.0f, -127.0f, -119.0f, -111.0f, 105.0f, 113.0f, 121.0f}) {
    const Encoded first(x, largest / end);
    const uint16_t scale = FiniteHalf(first.product / first.square);
    const Encoded second(x, HalfToFloat(scale));
    if (second.error < best.error) best = second, *d = scale;
  }
  return best;
}

}  // namespace

void DequantizeIQ4_NL(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks);
    const std::byte* pairs = blocks + 2;
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(kIq4NlCodebook[LowNibble(pairs[i])]);
      out[i + 16] = d * static_cast<float>(kIq4NlCodebook[HighNibble(pairs[i])]);
    }
  }
}

void QuantizeIQ4_NL(const float* in, int64_t values, std::byte* blocks) {
  float x[kValues];
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    CopyWithin(kLargestHalf * 127, in, kValues, x);
    uint16_t d;
    const Encoded best = SearchBlock(x, &d);
    StoreUint16(d, blocks);
    for (int i = 0; i < 16; ++i) blocks[2 + i] = static_cast<std::byte>(best.codes[i] | best.codes[i + 16] << 4);
  }
}

}  // namespace tessera
