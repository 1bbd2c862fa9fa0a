// Q8_0: 32 values in 34 bytes. An FP16 scale d, then 32 signed bytes. A value is d * q.
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 34;

int8_t RoundToByte(float value) {  // Halves round away from zero, as in GGUF tools. A NaN becomes 0.
  if (!(std::fabs(value) <= 127)) return value > 0 ? 127 : value < 0 ? -127 : 0;
  return static_cast<int8_t>(std::round(value));
}
}  // namespace

void DequantizeQ8_0(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks);
    for (int i = 0; i < kValues; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(blocks[2 + i]));
  }
}

void QuantizeQ8_0(const float* in, int64_t values, std::byte* blocks) {
  for (; values > 0; values -= kValues, blocks += kBytes, in += kValues) {
    const float d = std::fabs(LargestSigned(in, kValues)) / 127;
    const float inverse = d == 0 ? 0 : 1 / d;
    StoreHalf(d, blocks);
    for (int i = 0; i < kValues; ++i) blocks[2 + i] = static_cast<std::byte>(RoundToByte(in[i] * inverse));
  }
}

}  // namespace tessera
