// Q6_K: 256 values around zero in 210 bytes, sixteen runs of 16 with a signed 8-bit scale each. 128 bytes of low halves, 64 bytes
// of top bits, 16 scales, an FP16 factor d. A value is d * scale * (q - 32).
//
// Each half of the block (128 values) has 64 bytes of low halves: byte i holds values i (low) and i + 64 (high). Its 32 bytes of
// top bits: byte i holds two bits for each of values i, i + 32, i + 64, i + 96.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

void UnpackQ6_K(const std::byte* bytes, KBlock* block) {
  for (int i = 0; i < KBlock::kValues; ++i) {
    const std::byte pair = bytes[i / 128 * 64 + i % 64];
    const int low = i % 128 < 64 ? LowNibble(pair) : HighNibble(pair);
    const int top = std::to_integer<int>(bytes[128 + i / 128 * 32 + i % 32]) >> i % 128 / 32 * 2 & 3;
    block->codes[i] = static_cast<uint8_t>(low | top << 4);
  }
  for (int run = 0; run < 16; ++run) block->scales[run] = static_cast<int8_t>(bytes[192 + run]);
  block->factor = LoadUint16(bytes + 208);
}

void DequantizeQ6_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ6_K, /*kBytes=*/210, /*kRun=*/16, /*kZero=*/32>(blocks, values, out);
}

}  // namespace tessera
