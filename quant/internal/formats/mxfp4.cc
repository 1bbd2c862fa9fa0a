// MXFP4: 32 values in 17 bytes, 4.25 bits each: a byte e, and nibbles laid out as in Q4_0. A value is 2^(e - 128) * code book[q]; the code
// book's numbers are twice those of E2M1.
#include "tessera/quant/internal/formats/fp4_group.h"

namespace tessera {

Fp4Group UnpackMXFP4(const std::byte* bytes) {
  const int e = std::to_integer<int>(bytes[0]);
  // 2^(e - 128): FP32's exponent is e - 1; the two smallest are denormal.
  const uint16_t scale = static_cast<uint16_t>(e < 2 ? 0x20 << e : (e - 1) << 7);
  Fp4Group group = {.codes = {}, .scales = {scale, scale}};
  for (int i = 0; i < 16; ++i) {
    group.codes[i] = static_cast<uint8_t>(LowNibble(bytes[1 + i]));
    group.codes[16 + i] = static_cast<uint8_t>(HighNibble(bytes[1 + i]));
  }
  return group;
}

void DequantizeMXFP4(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= 32, blocks += 17, out += 32) DequantizeFp4Group(UnpackMXFP4(blocks), out);
}

}  // namespace tessera
