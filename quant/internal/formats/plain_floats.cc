// F32, F16 and BF16: a block is one number.
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

void DequantizeF32(const std::byte* blocks, int64_t values, float* out) {
  for (int64_t i = 0; i < values; ++i) {
    const uint32_t bits = LoadUint32(blocks + 4 * i);
    std::memcpy(out + i, &bits, sizeof bits);
  }
}

void QuantizeF32(const float* in, int64_t values, std::byte* blocks) {
  for (int64_t i = 0; i < values; ++i) {
    uint32_t bits;
    std::memcpy(&bits, in + i, sizeof bits);
    StoreUint32(bits, blocks + 4 * i);
  }
}

void DequantizeF16(const std::byte* blocks, int64_t values, float* out) {
  for (int64_t i = 0; i < values; ++i) out[i] = HalfToFloat(LoadUint16(blocks + 2 * i));
}

void QuantizeF16(const float* in, int64_t values, std::byte* blocks) {
  for (int64_t i = 0; i < values; ++i) StoreUint16(FloatToHalf(in[i]), blocks + 2 * i);
}

void DequantizeBF16(const std::byte* blocks, int64_t values, float* out) {
  for (int64_t i = 0; i < values; ++i) out[i] = BFloat16ToFloat(LoadUint16(blocks + 2 * i));
}

void QuantizeBF16(const float* in, int64_t values, std::byte* blocks) {
  for (int64_t i = 0; i < values; ++i) StoreUint16(FloatToBFloat16(in[i]), blocks + 2 * i);
}

}  // namespace tessera
