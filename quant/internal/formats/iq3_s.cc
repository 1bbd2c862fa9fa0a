// IQ3_S: 256 values in 110 bytes, 3.4375 bits each. An FP16 factor d, 64 bytes of low bits of indices (one for each 4 values), 8 bytes with
// their top bits, 32 bytes of signs, 4 bytes with a scale s of 4 bits for each 32 values. A value is d * (2 s + 1) * (signed grid number).
#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/grids.h"

namespace tessera {

CodedBlock UnpackIQ3_S(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes);
  PutOddScales(bytes + 106, 8, block.scales);
  const auto entry = [bytes](int quad) {
    const int top = std::to_integer<int>(bytes[66 + quad / 8]) >> quad % 8 & 1;
    return static_cast<uint32_t>(kGridIQ3_S[std::to_integer<int>(bytes[2 + quad]) | top << 8]);
  };
  for (int run = 0; run < 32; ++run) {
    PutGridCodes<4>(entry(2 * run) | entry(2 * run + 1) << 16, std::to_integer<int>(bytes[74 + run]), block.codes + 8 * run);
  }
  return block;
}

void DequantizeIQ3_S(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ3_S, 110>(kIq3SCodebook, blocks, values, out);
}

}  // namespace tessera
