// Q5_K: 256 values in 176 bytes, as Q4_K with a fifth bit: the factors, scales and minima of Q4_K (16 bytes), 32 bytes of fifth bits
// (byte i holds those of values i, i + 32, ..., i + 224), then the 128 bytes of Q4_K's codes.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

void UnpackQ5_K(const std::byte* bytes, KBlock* block) {
  block->factor = LoadUint16(bytes);
  block->minimum_factor = LoadUint16(bytes + 2);
  UnpackSixBitScales(bytes + 4, block);
  for (int i = 0; i < KBlock::kValues; ++i) {
    const std::byte pair = bytes[48 + i / 64 * 32 + i % 32];
    const int low = i % 64 < 32 ? LowNibble(pair) : HighNibble(pair);
    const int fifth = std::to_integer<int>(bytes[16 + i % 32]) >> i / 32 & 1;
    block->codes[i] = static_cast<uint8_t>(low | fifth << 4);
  }
}

void DequantizeQ5_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ5_K, /*kBytes=*/176, /*kRun=*/32, /*kZero=*/0>(blocks, values, out);
}

}  // namespace tessera
