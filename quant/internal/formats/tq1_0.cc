// TQ1_0: 256 values of -d, 0 and d in 54 bytes, 1.6875 bits each. 48 bytes of five codes each, 4 bytes of four, an FP16 factor d. A value
// is d * (q - 1).
//
// A byte is a fraction of 256 whose digits, in base 3, are its codes. Bytes 0-31 hold values i, i + 32, ..., i + 128; bytes 32-47 values
// 160 + i, 176 + i, ...; bytes 48-51 values 240 + i, 244 + i, ....
#include "tessera/quant/internal/formats/k_block.h"

namespace tessera {
namespace {

// Digits of `count` bytes: all first ones, then all second ones.
uint8_t* PutDigits(const std::byte* bytes, int count, int digits, uint8_t* codes) {
  int power = 1;
  for (int digit = 0; digit < digits; ++digit, power *= 3) {
    for (int i = 0; i < count; ++i) *codes++ = static_cast<uint8_t>((std::to_integer<int>(bytes[i]) * power & 255) * 3 >> 8);
  }
  return codes;
}

}  // namespace

KBlock UnpackTQ1_0(const std::byte* bytes) {
  KBlock block;
  block.scales[0] = 1;
  block.factor = LoadUint16(bytes + 52);
  uint8_t* codes = PutDigits(bytes, 32, 5, block.codes);
  codes = PutDigits(bytes + 32, 16, 5, codes);
  PutDigits(bytes + 48, 4, 4, codes);
  return block;
}

void DequantizeTQ1_0(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackTQ1_0, 54, /*kRun=*/256, /*kZero=*/1>(blocks, values, out);
}

}  // namespace tessera
