// IQ3_XXS: 256 values in 98 bytes, 3.0625 bits each. An FP16 factor d, 64 bytes of indices (one for each 4 values), and a word for each 32
// values: four times seven signs, and a scale s of 4 bits. A value is d * (2 s + 1) / 4 * (signed grid number).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ3_XXS(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes) / 4;
  for (int run = 0; run < 32; ++run) {
    const uint32_t word = LoadUint32(bytes + 66 + run / 4 * 4);
    if (run % 2 == 0) block.scales[run / 2] = static_cast<int8_t>(2 * (word >> 28) + 1);
    const std::byte* indices = bytes + 2 + 2 * run;
    const uint32_t first = kGridIQ3_XXS[std::to_integer<size_t>(indices[0])], second = kGridIQ3_XXS[std::to_integer<size_t>(indices[1])];
    PutGridCodes<4>(first | second << 16, EvenSigns(word >> run % 4 * 7 & 127), block.codes + 8 * run);
  }
  return block;
}

void DequantizeIQ3_XXS(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ3_XXS, 98>(kIq3XxsCodebook, blocks, values, out);
}

}  // namespace tessera
