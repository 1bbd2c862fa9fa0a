// Q1_0: 128 values of -d and d in 18 bytes, 1.125 bits each: an FP16 scale d, and a bit for each value, which is set for d.
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

void DequantizeQ1_0(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= 128, blocks += 18, out += 128) {
    const float d = LoadHalf(blocks);
    for (int i = 0; i < 128; ++i) out[i] = (std::to_integer<int>(blocks[2 + i / 8]) >> i % 8 & 1) != 0 ? d : -d;
  }
}

}  // namespace tessera
