// Q4_1: 32 values between a minimum and a maximum in 20 bytes. An FP16 scale d, an FP16 minimum m, then 16 bytes: byte i
// holds value i in its low half and value i + 16 in its high half. A value is d * q + m.
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 20;
}

void DequantizeQ4_1(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks), m = LoadHalf(blocks + 2);
    const std::byte* pairs = blocks + 4;
    for (int i = 0; i < 16; ++i) {  // The products are exact (11 x 4 bits): the sum is the one rounding.
      out[i] = d * static_cast<float>(LowNibble(pairs[i])) + m;
      out[i + 16] = d * static_cast<float>(HighNibble(pairs[i])) + m;
    }
  }
}

void QuantizeQ4_1(const float* in, int64_t values, std::byte* blocks) {
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    const auto [smallest, largest] = std::minmax_element(in, in + kValues);
    const float m = *smallest, d = (*largest - m) / 15;
    const float inverse = d == 0 ? 0 : 1 / d;
    StoreHalf(d, blocks);
    StoreHalf(m, blocks + 2);
    for (int i = 0; i < 16; ++i) {
      const uint32_t low = TruncateTo((in[i] - m) * inverse + 0.5f, 15);
      const uint32_t high = TruncateTo((in[i + 16] - m) * inverse + 0.5f, 15);
      blocks[4 + i] = static_cast<std::byte>(low | high << 4);
    }
  }
}

}  // namespace tessera
