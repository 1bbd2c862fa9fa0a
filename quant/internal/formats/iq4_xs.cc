// IQ4_XS: 256 values in 136 bytes, 4.25 bits each. An FP16 factor d, a word with the top two bits of eight scales, 4 bytes with their low
// bits, 128 bytes of nibbles: codes of IQ4_NL's code book. A value is d * (s - 32) * code book[q].
#include "tessera/quant/internal/formats/coded_block.h"

namespace tessera {

CodedBlock UnpackIQ4_XS(const std::byte* bytes) {
  CodedBlock block;
  block.factor = LoadHalf(bytes);
  const int tops = LoadUint16(bytes + 2);
  for (int group = 0; group < 8; ++group) {
    const std::byte pair = bytes[4 + group / 2];
    const int low = group % 2 == 0 ? LowNibble(pair) : HighNibble(pair);
    block.scales[2 * group] = block.scales[2 * group + 1] = static_cast<int8_t>((low | (tops >> 2 * group & 3) << 4) - 32);
    const std::byte* pairs = bytes + 8 + 16 * group;
    for (int i = 0; i < 16; ++i) {
      block.codes[32 * group + i] = static_cast<uint8_t>(LowNibble(pairs[i]));
      block.codes[32 * group + 16 + i] = static_cast<uint8_t>(HighNibble(pairs[i]));
    }
  }
  return block;
}

void DequantizeIQ4_XS(const std::byte* blocks, int64_t values, float* out) {
  DequantizeCodedBlocks<UnpackIQ4_XS, 136>(kIq4NlCodebook, blocks, values, out);
}

}  // namespace tessera
