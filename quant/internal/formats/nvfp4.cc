// NVFP4: 64 values in 36 bytes, 4.5 bits each. A byte of scale for each 16 values, then 8 bytes of nibbles for each 16 values, the first
// eight values low. A value is scale / 2 * code book[q]; the code book's numbers are twice those of E2M1. A scale is a floating-point
// number of four bits of exponent and three of mantissa (E4M3). The sign of a scale is ignored, and 127, which would be no number, is 0.
#include "tessera/quant/internal/formats/fp4_group.h"

namespace tessera {
namespace {

uint16_t HalfOfScale(std::byte byte) {
  const int exponent = std::to_integer<int>(byte) >> 3 & 15, mantissa = std::to_integer<int>(byte) & 7;
  if (byte == std::byte{127}) return 0;
  const float scale = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -10)
                                    : std::ldexp(static_cast<float>(8 + mantissa), exponent - 11);
  return FloatToBFloat16(scale);  // Exact.
}

}  // namespace

Fp4Group UnpackNVFP4(const std::byte* bytes, int group) {
  Fp4Group unpacked = {.codes = {}, .scales = {HalfOfScale(bytes[2 * group]), HalfOfScale(bytes[2 * group + 1])}};
  const std::byte* pairs = bytes + 4 + 16 * group;
  for (int run = 0; run < 2; ++run) {
    for (int i = 0; i < 8; ++i) {
      unpacked.codes[16 * run + i] = static_cast<uint8_t>(LowNibble(pairs[8 * run + i]));
      unpacked.codes[16 * run + 8 + i] = static_cast<uint8_t>(HighNibble(pairs[8 * run + i]));
    }
  }
  return unpacked;
}

void DequantizeNVFP4(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= 64, blocks += 36, out += 64) {
    for (int group = 0; group < 2; ++group) DequantizeFp4Group(UnpackNVFP4(blocks, group), out + 32 * group);
  }
}

}  // namespace tessera
