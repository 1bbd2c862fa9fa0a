// The conversions of each block format, one file per format, and shared loads and stores of a few bytes. Only block_format.cc, the formats'
// files and their packing (quant/internal/panels) include this header; all other code uses InfoOf(format). Preconditions: as
// BlockFormatInfo. Thread-safe (pure functions).
//
//   void Dequantize...: blocks -> FP32, one rounding per value at most.
//   void Quantize...:   FP32 -> blocks: the same bytes as GGUF tools.
//   void Search...:     FP32 -> blocks: those that a search finds; importance may be null. A format that is written has one of the two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/base/half.h"

namespace tessera {

void DequantizeF32(const std::byte* blocks, int64_t values, float* out);
void DequantizeF16(const std::byte* blocks, int64_t values, float* out);
void DequantizeBF16(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ4_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ4_1(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ5_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ5_1(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ8_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ2_K(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ3_K(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ4_K(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ5_K(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ6_K(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ4_NL(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ1_S(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ1_M(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ2_XXS(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ2_XS(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ2_S(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ3_XXS(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ3_S(const std::byte* blocks, int64_t values, float* out);
void DequantizeIQ4_XS(const std::byte* blocks, int64_t values, float* out);
void DequantizeTQ1_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeTQ2_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeMXFP4(const std::byte* blocks, int64_t values, float* out);
void DequantizeNVFP4(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ1_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeQ2_0(const std::byte* blocks, int64_t values, float* out);
void DequantizeT2(const std::byte* blocks, int64_t values, float* out);
void DequantizeT3(const std::byte* blocks, int64_t values, float* out);

void QuantizeF32(const float* in, int64_t values, std::byte* blocks);
void QuantizeF16(const float* in, int64_t values, std::byte* blocks);
void QuantizeBF16(const float* in, int64_t values, std::byte* blocks);
void QuantizeQ4_0(const float* in, int64_t values, std::byte* blocks);
void QuantizeQ4_1(const float* in, int64_t values, std::byte* blocks);
void QuantizeQ5_0(const float* in, int64_t values, std::byte* blocks);
void QuantizeQ5_1(const float* in, int64_t values, std::byte* blocks);
void QuantizeQ8_0(const float* in, int64_t values, std::byte* blocks);

void SearchQ2_K(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchQ3_K(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchQ4_K(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchQ5_K(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchQ6_K(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchIQ4_NL(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchT2(const float* in, const float* importance, int64_t values, std::byte* blocks);
void SearchT3(const float* in, const float* importance, int64_t values, std::byte* blocks);

// Files are little-endian, and blocks may be at any address, so these functions combine bytes one by one.
inline uint16_t LoadUint16(const std::byte* bytes) {
  return static_cast<uint16_t>(std::to_integer<uint32_t>(bytes[0]) | std::to_integer<uint32_t>(bytes[1]) << 8);
}

inline void StoreUint16(uint16_t value, std::byte* bytes) {
  bytes[0] = static_cast<std::byte>(value & 0xff);
  bytes[1] = static_cast<std::byte>(value >> 8);
}

inline uint32_t LoadUint32(const std::byte* bytes) {
  return LoadUint16(bytes) | static_cast<uint32_t>(LoadUint16(bytes + 2)) << 16;
}

inline void StoreUint32(uint32_t value, std::byte* bytes) {
  StoreUint16(static_cast<uint16_t>(value & 0xffff), bytes);
  StoreUint16(static_cast<uint16_t>(value >> 16), bytes + 2);
}

inline float LoadHalf(const std::byte* bytes) { return HalfToFloat(LoadUint16(bytes)); }
inline void StoreHalf(float value, std::byte* bytes) { StoreUint16(FloatToHalf(value), bytes); }

inline int LowNibble(std::byte pair) { return std::to_integer<int>(pair) & 0xf; }
inline int HighNibble(std::byte pair) { return std::to_integer<int>(pair) >> 4; }

// Returns the value with the largest magnitude, including the sign. The first of several equal magnitudes counts, so the sign of a block of
// zeros is the sign of the block's first value. Skips NaN; 0 if all values are NaN.
inline float LargestSigned(const float* in, int count) {
  float magnitude = -1, largest = 0;
  for (int i = 0; i < count; ++i) {
    const float a = std::fabs(in[i]);
    if (a > magnitude) magnitude = a, largest = in[i];
  }
  return largest;
}

// Truncates to an integer in [0, highest]. The clamp comes first, in a form that turns a NaN into 0: a conversion that does not fit is
// undefined.
inline uint32_t TruncateTo(float value, int highest) {
  if (!(value > 0)) return 0;
  return static_cast<uint32_t>(std::min(value, static_cast<float>(highest)));
}

constexpr float kLargestHalf = 65504;

// Copies in -> out for the formats that search, as finite numbers. NaN becomes 0, and numbers beyond `largest` are clamped. Numbers that no
// FP16 scale can tell from 0 (the smallest scale is 2^-24) become 0, so that quotients stay finite.
inline void CopyWithin(float largest, const float* in, int count, float* out) {
  for (int i = 0; i < count; ++i) out[i] = std::fabs(in[i]) > 0x1p-30f ? std::clamp(in[i], -largest, largest) : 0;
}

// Computes the weights of the errors of `count` values that share a scale. A weight is the value's importance divided by the largest
// importance, so that sums stay finite. A weight is at least 2^-16, since another text may use inputs that the measured text did not use.
// All weights are 1 if no importance is above 0. importance: null, or `count` finite numbers that are not negative.
inline void CopyImportance(const float* importance, int count, float* out) {
  const float largest = importance == nullptr ? 0 : *std::max_element(importance, importance + count);
  for (int i = 0; i < count; ++i) out[i] = largest > 0 ? std::max(importance[i] / largest, 0x1p-16f) : 1;
}

// Rounds to FP16; numbers beyond FP16 become the largest finite number.
inline uint16_t FiniteHalf(float value) { return FloatToHalf(std::clamp(value, -kLargestHalf, kLargestHalf)); }

}  // namespace tessera
