// Q6_K: 256 values around zero in 210 bytes, sixteen runs of 16 with a signed 8-bit scale each. 128 bytes of low halves, 64 bytes
// of top bits, 16 scales, an FP16 factor d. A value is d * scale * (q - 32).
//
// Each half of the block (128 values) has 64 bytes of low halves: byte i holds values i (low) and i + 64 (high). Its 32 bytes of
// top bits: byte i holds two bits for each of values i, i + 32, i + 64, i + 96.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

KBlock UnpackQ6_K(const std::byte* bytes) {
  KBlock block;
  for (int g = 0; g < 8; ++g) {
    AddBits<4>(bytes + g / 4 * 64 + g % 2 * 32, g % 4 / 2 * 4, block.codes + 32 * g);
    AddBits<2, 4>(bytes + 128 + g / 4 * 32, g % 4 * 2, block.codes + 32 * g);
  }
  for (int run = 0; run < 16; ++run) block.scales[run] = static_cast<int8_t>(bytes[192 + run]);
  block.factor = LoadUint16(bytes + 208);
  return block;
}

void DequantizeQ6_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ6_K, /*kBytes=*/210, /*kRun=*/16, /*kZero=*/32>(blocks, values, out);
}

}  // namespace tessera
