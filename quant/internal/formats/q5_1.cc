// Q5_1: 32 values between a minimum and a maximum in 24 bytes. An FP16 scale d, an FP16 minimum m, then the fifth bits and low
// halves of Q5_0. A value is d * q + m.
#include "tessera/quant/internal/formats/formats.h"

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

void QuantizeQ5_1(const float* in, int64_t values, std::byte* blocks) {
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    const auto [smallest, largest] = std::minmax_element(in, in + kValues);
    const float m = *smallest, d = (*largest - m) / 31;
    const float inverse = d == 0 ? 0 : 1 / d;
    StoreHalf(d, blocks);
    StoreHalf(m, blocks + 2);
    uint32_t fifth = 0;
    for (int i = 0; i < 16; ++i) {
      const uint32_t low = TruncateTo((in[i] - m) * inverse + 0.5f, 31);
      const uint32_t high = TruncateTo((in[i + 16] - m) * inverse + 0.5f, 31);
      blocks[8 + i] = static_cast<std::byte>((low & 0xf) | (high & 0xf) << 4);
      fifth |= low >> 4 << i | high >> 4 << (i + 16);
    }
    StoreUint32(fifth, blocks + 4);
  }
}

}  // namespace tessera
