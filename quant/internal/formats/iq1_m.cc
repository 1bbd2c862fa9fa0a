// IQ1_M: 256 values in 56 bytes, 1.75 bits each. 32 bytes of low bits of indices, 16 bytes with the top three bits of each index and the
// sign of its shift, four words of scales. A value is d * (2 s + 1) * (grid number + shift), as in IQ1_S, but each 16 values have a scale
// and each 8 a shift. The FP16 factor d lies in the top four bits of the four words.
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ1_M(const std::byte* bytes) {
  CodedBlock block;
  uint32_t factor = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = LoadUint16(bytes + 48 + 2 * i);
    factor |= word >> 12 << 4 * i;
    for (int run = 0; run < 4; ++run) block.scales[4 * i + run] = static_cast<int8_t>(2 * (word >> 3 * run & 7) + 1);
  }
  block.factor = HalfToFloat(static_cast<uint16_t>(factor)) / 8;  // The code book's numbers are in eighths.
  for (int run = 0; run < 32; ++run) {
    const std::byte pair = bytes[32 + run / 2];
    const int top = run % 2 == 0 ? LowNibble(pair) : HighNibble(pair);
    const int index = std::to_integer<int>(bytes[run]) | (top & 7) << 8;
    PutGridCodes<2>(kGridIQ1[index], top >> 3 != 0 ? 0xff : 0, block.codes + 8 * run);
  }
  return block;
}

void DequantizeIQ1_M(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ1_M, 56>(kIq1Codebook, blocks, values, out);
}

}  // namespace tessera
