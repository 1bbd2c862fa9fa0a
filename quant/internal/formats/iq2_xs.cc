// IQ2_XS: 256 values in 74 bytes, 2.3125 bits each. An FP16 factor d, a word for each 8 values (an index of 9 bits, seven signs), and 8
// bytes with a scale s of 4 bits for each 16 values. A value is d * (2 s + 1) / 8 * (signed grid number).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ2_XS(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes) / 8;
  PutOddScales(bytes + 66, 16, block.scales);
  for (int run = 0; run < 32; ++run) {
    const uint32_t word = LoadUint16(bytes + 2 + 2 * run);
    PutGridCodes<2>(kGridIQ2_XS[word & 511], EvenSigns(word >> 9), block.codes + 8 * run);
  }
  return block;
}

void DequantizeIQ2_XS(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ2_XS, 74>(kIq2Codebook, blocks, values, out);
}

}  // namespace tessera
