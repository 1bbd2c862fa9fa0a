// Q4_K: 256 values in 144 bytes, eight runs of 32 with a 6-bit scale and a 6-bit minimum each. An FP16 factor d of the scales, an
// FP16 factor of the minima, 12 bytes of scales and minima, then 128 bytes of codes: 32 bytes hold two runs, the first in the low
// halves, the second in the high halves. A value is d * scale * q - factor * minimum.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

KBlock UnpackQ4_K(const std::byte* bytes) {
  KBlock block = UnpackSixBitScales(bytes);
  for (int g = 0; g < 8; ++g) AddBits<4>(bytes + 16 + g / 2 * 32, g % 2 * 4, block.codes + 32 * g);
  return block;
}

void DequantizeQ4_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ4_K, /*kBytes=*/144, /*kRun=*/32, /*kZero=*/0>(blocks, values, out);
}

}  // namespace tessera
