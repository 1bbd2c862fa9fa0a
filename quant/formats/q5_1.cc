// Q5_1: 32 values between a minimum and a maximum in 24 bytes. An FP16 scale d, an FP16 minimum m, then the fifth bits and low
// halves of Q5_0. A value is d * q + m.
#include "tessera/quant/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 24;
}

void DequantizeQ5_1(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks), m = LoadHalf(blocks + 2);
    const uint32_t fifth = LoadUint32(blocks + 4);
    const std::byte* pairs = blocks + 8;
    for (int i = 0; i < 16; ++i) {  // The products are exact (11 x 5 bits): the sum is the one rounding.
      const int low = LowNibble(pairs[i]) | static_cast<int>(fifth >> i & 1) << 4;
      const int high = HighNibble(pairs[i]) | static_cast<int>(fifth >> (i + 16) & 1) << 4;
      out[i] = d * static_cast<float>(low) + m;
      out[i + 16] = d * static_cast<float>(high) + m;
    }
  }
}

}  // namespace tessera
