// TQ2_0: 256 values of -d, 0 and d (and 2 d, which is never written) in 66 bytes, 2.0625 bits each. 64 bytes of four codes, an FP16 factor
// d. A value is d * (q - 1). Codes are in the order of Q2_K.
#include "tessera/quant/internal/formats/k_block.h"

namespace tessera {

KBlock UnpackTQ2_0(const std::byte* bytes) {
  KBlock block;
  for (int g = 0; g < 8; ++g) AddBits<2>(bytes + g / 4 * 32, g % 4 * 2, block.codes + 32 * g);
  block.scales[0] = 1;
  block.factor = LoadUint16(bytes + 64);
  return block;
}

void DequantizeTQ2_0(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackTQ2_0, 66, /*kRun=*/256, /*kZero=*/1>(blocks, values, out);
}

}  // namespace tessera
