// Q5_K: 256 values in 176 bytes, as Q4_K with a fifth bit: the factors, scales and minima of Q4_K (16 bytes), 32 bytes of fifth bits
// (byte i holds those of values i, i + 32, ..., i + 224), then the 128 bytes of Q4_K's codes.
#include "tessera/quant/formats/k_block.h"

namespace tessera {

KBlock UnpackQ5_K(const std::byte* bytes) {
  KBlock block = UnpackSixBitScales(bytes);
  for (int g = 0; g < 8; ++g) {
    AddBits<4>(bytes + 48 + g / 2 * 32, g % 2 * 4, block.codes + 32 * g);
    AddBits<1, 4>(bytes + 16, g, block.codes + 32 * g);
  }
  return block;
}

void DequantizeQ5_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ5_K, /*kBytes=*/176, /*kRun=*/32, /*kZero=*/0>(blocks, values, out);
}

}  // namespace tessera
