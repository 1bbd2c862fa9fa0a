// Q4_0: 32 values around zero in 18 bytes. An FP16 scale d, then 16 bytes: byte i holds value i in its low half and value
// i + 16 in its high half. A value is d * (q - 8).
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 18;
}

void DequantizeQ4_0(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks);
    const std::byte* pairs = blocks + 2;
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(LowNibble(pairs[i]) - 8);
      out[i + 16] = d * static_cast<float>(HighNibble(pairs[i]) - 8);
    }
  }
}

// The value of the largest magnitude becomes -8, the one code without a partner of the other sign.
void QuantizeQ4_0(const float* in, int64_t values, std::byte* blocks) {
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    const float d = LargestSigned(in, kValues) / -8;
    const float inverse = d == 0 ? 0 : 1 / d;
    StoreHalf(d, blocks);
    for (int i = 0; i < 16; ++i) {
      const uint32_t low = TruncateTo(in[i] * inverse + 8.5f, 15);
      const uint32_t high = TruncateTo(in[i + 16] * inverse + 8.5f, 15);
      blocks[2 + i] = static_cast<std::byte>(low | high << 4);
    }
  }
}

}  // namespace tessera
