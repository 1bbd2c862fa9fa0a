// Q5_0: 32 values around zero in 22 bytes. An FP16 scale d, 32 bits that are each value's fifth bit, then 16 bytes: byte i
// holds the low four bits of value i in its low half and of value i + 16 in its high half. A value is d * (q - 16).
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 22;
}

void DequantizeQ5_0(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks);
    const uint32_t fifth = LoadUint32(blocks + 2);
    const std::byte* pairs = blocks + 6;
    for (int i = 0; i < 16; ++i) {
      const int low = LowNibble(pairs[i]) | static_cast<int>(fifth >> i & 1) << 4;
      const int high = HighNibble(pairs[i]) | static_cast<int>(fifth >> (i + 16) & 1) << 4;
      out[i] = d * static_cast<float>(low - 16);
      out[i + 16] = d * static_cast<float>(high - 16);
    }
  }
}

// The value of the largest magnitude becomes -16, the one code without a partner of the other sign.
void QuantizeQ5_0(const float* in, int64_t values, std::byte* blocks) {
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    const float d = LargestSigned(in, kValues) / -16;
    const float inverse = d == 0 ? 0 : 1 / d;
    StoreHalf(d, blocks);
    uint32_t fifth = 0;
    for (int i = 0; i < 16; ++i) {
      const uint32_t low = TruncateTo(in[i] * inverse + 16.5f, 31);
      const uint32_t high = TruncateTo(in[i + 16] * inverse + 16.5f, 31);
      blocks[6 + i] = static_cast<std::byte>((low & 0xf) | (high & 0xf) << 4);
      fifth |= low >> 4 << i | high >> 4 << (i + 16);
    }
    StoreUint32(fifth, blocks + 2);
  }
}

}  // namespace tessera
