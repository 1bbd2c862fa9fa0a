// IQ1_S: 256 values in 50 bytes, 1.5625 bits each. An FP16 factor d, 32 bytes of low bits of indices, and for each 32 values a word: the
// top three bits of four indices, a scale s of 3 bits and the sign of a shift by 1/8. A value is d * (2 s + 1) * (grid number + shift).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ1_S(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes) / 8;  // The code book's numbers are in eighths.
  for (int group = 0; group < 8; ++group) {
    const uint32_t word = LoadUint16(bytes + 34 + 2 * group);
    block.scales[2 * group] = block.scales[2 * group + 1] = static_cast<int8_t>(2 * (word >> 12 & 7) + 1);
    for (int run = 0; run < 4; ++run) {
      const uint32_t index = std::to_integer<uint32_t>(bytes[2 + 4 * group + run]) | (word >> 3 * run & 7) << 8;
      PutGridCodes<2>(kGridIQ1[index], word >> 15 != 0 ? 0xff : 0, block.codes + 32 * group + 8 * run);
    }
  }
  return block;
}

void DequantizeIQ1_S(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ1_S, 50>(kIq1Codebook, blocks, values, out);
}

}  // namespace tessera
