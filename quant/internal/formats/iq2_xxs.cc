// IQ2_XXS: 256 values in 66 bytes, 2.0625 bits each. An FP16 factor d, then for each 32 values four bytes of indices and a word: four times
// seven signs, and a scale s of 4 bits. A value is d * (2 s + 1) / 8 * (signed grid number).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ2_XXS(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes) / 8;
  for (int group = 0; group < 8; ++group) {
    const std::byte* indices = bytes + 2 + 8 * group;
    const uint32_t word = LoadUint32(indices + 4);
    block.scales[2 * group] = block.scales[2 * group + 1] = static_cast<int8_t>(2 * (word >> 28) + 1);
    for (int run = 0; run < 4; ++run) {
      const uint32_t entry = kGridIQ2_XXS[std::to_integer<size_t>(indices[run])];
      PutGridCodes<2>(entry, EvenSigns(word >> 7 * run & 127), block.codes + 32 * group + 8 * run);
    }
  }
  return block;
}

void DequantizeIQ2_XXS(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ2_XXS, 66>(kIq2Codebook, blocks, values, out);
}

}  // namespace tessera
