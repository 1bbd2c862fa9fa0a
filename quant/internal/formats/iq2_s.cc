// IQ2_S: 256 values in 82 bytes, 2.5625 bits each. An FP16 factor d, 32 bytes of low bits of indices, 32 bytes of signs, 8 bytes with the
// top two bits of the indices, 8 bytes with a scale s of 4 bits for each 16 values. A value is d * (2 s + 1) / 8 * (signed grid number).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ2_S(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes) / 8;
  PutOddScales(bytes + 74, 16, block.scales);
  for (int run = 0; run < 32; ++run) {
    const int top = std::to_integer<int>(bytes[66 + run / 4]) >> run % 4 * 2 & 3;
    const int index = std::to_integer<int>(bytes[2 + run]) | top << 8;
    PutGridCodes<2>(kGridIQ2_S[index], std::to_integer<int>(bytes[34 + run]), block.codes + 8 * run);
  }
  return block;
}

void DequantizeIQ2_S(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ2_S, 82>(kIq2Codebook, blocks, values, out);
}

}  // namespace tessera
