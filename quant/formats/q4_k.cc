// Q4_K: 256 values in 144 bytes, eight groups of 32 with a 6-bit scale and a 6-bit minimum each. An FP16 factor d of the
// scales, an FP16 factor of the minimums, 12 bytes of scales and minimums, then 128 bytes of codes: 32 bytes hold two groups,
// the first in the low halves, the second in the high halves. A value is d * scale * q - factor * minimum.
#include "tessera/quant/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 256, kBytes = 144;

struct GroupScale { int scale; int minimum; };

// Bytes 0-3 hold the scales of groups 0-3 in six bits, bytes 4-7 their minimums. Groups 4-7 have their low four bits in
// bytes 8-11 (scale low, minimum high) and their top two in what bytes 0-7 leave over.
GroupScale ScaleOfGroup(const std::byte* packed, int group) {
  const auto at = [packed](int i) { return std::to_integer<int>(packed[i]); };
  if (group < 4) return {at(group) & 63, at(group + 4) & 63};
  return {(at(group + 4) & 15) | at(group - 4) >> 6 << 4, at(group + 4) >> 4 | at(group) >> 6 << 4};
}
}  // namespace

void DequantizeQ4_K(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks), factor = LoadHalf(blocks + 2);
    for (int group = 0; group < 8; ++group) {
      const GroupScale packed = ScaleOfGroup(blocks + 4, group);
      const float scale = d * static_cast<float>(packed.scale);  // These products and scale * q are exact:
      const float minimum = factor * static_cast<float>(packed.minimum);  // 11 + 6 + 4 bits.
      const std::byte* pairs = blocks + 16 + group / 2 * 32;
      for (int i = 0; i < 32; ++i) {
        const int q = group % 2 == 0 ? LowNibble(pairs[i]) : HighNibble(pairs[i]);
        out[group * 32 + i] = scale * static_cast<float>(q) - minimum;
      }
    }
  }
}

}  // namespace tessera
