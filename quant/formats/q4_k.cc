// Q4_K: 256 values in 144 bytes, eight runs of 32 with a 6-bit scale and a 6-bit minimum each. An FP16 factor d of the scales, an
// FP16 factor of the minima, 12 bytes of scales and minima, then 128 bytes of codes: 32 bytes hold two runs, the first in the low
// halves, the second in the high halves. A value is d * scale * q - factor * minimum.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

void UnpackQ4_K(const std::byte* bytes, KBlock* block) {
  block->factor = LoadUint16(bytes);
  block->minimum_factor = LoadUint16(bytes + 2);
  UnpackSixBitScales(bytes + 4, block);
  for (int i = 0; i < KBlock::kValues; ++i) {
    const std::byte pair = bytes[16 + i / 64 * 32 + i % 32];
    block->codes[i] = static_cast<uint8_t>(i % 64 < 32 ? LowNibble(pair) : HighNibble(pair));
  }
}

void DequantizeQ4_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ4_K, /*kBytes=*/144, /*kRun=*/32, /*kZero=*/0>(blocks, values, out);
}

}  // namespace tessera
