// Q2_0: 64 values of -d, 0, d and 2 d in 18 bytes, 2.25 bits each: an FP16 scale d, and codes of two bits, four neighbours per byte, the
// first one lowest. A value is d * (q - 1).
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

void DequantizeQ2_0(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= 64, blocks += 18, out += 64) {
    const float d = LoadHalf(blocks);
    for (int i = 0; i < 64; ++i) out[i] = d * static_cast<float>((std::to_integer<int>(blocks[2 + i / 4]) >> i % 4 * 2 & 3) - 1);
  }
}

}  // namespace tessera
