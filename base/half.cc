#include "tessera/base/half.h"

#include <bit>

namespace tessera {
namespace {

constexpr uint32_t kFloatInfinity = 0x7F800000u;

// value / 2^shift, rounded to the nearest integer, ties to even. REQUIRES: 1 <= shift <= 31.
constexpr uint32_t ShiftRounded(uint32_t value, int shift) {
  const uint32_t kept = value >> shift;
  const uint32_t rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

}  // namespace

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F, mantissa = bits & 0x3FF;
  if (exponent == 0) {  // Zero or subnormal: mantissa * 2^-24, a product without rounding.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1F) {  // Infinity or NaN; a NaN becomes quiet, as in hardware.
    const uint32_t quiet = mantissa == 0 ? 0 : 0x00400000u;
    return std::bit_cast<float>(sign | kFloatInfinity | quiet | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));  // 112 = 127 - 15, the biases.
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > kFloatInfinity) return sign | 0x7E00u | ((magnitude >> 13) & 0x3FF);
  if (magnitude >= 0x47800000u) return sign | 0x7C00u;  // 2^16 and more, infinity included.
  if (magnitude >= 0x38800000u) {  // 2^-14 and more: normal. A carry out of the mantissa moves on to the exponent, rightly.
    return sign | ShiftRounded(magnitude - (112u << 23), 13);
  }
  const int exponent = static_cast<int>(magnitude >> 23);
  if (exponent < 102) return sign;  // Below 2^-25, half of the smallest subnormal.
  const uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  return sign | ShiftRounded(mantissa, 126 - exponent);
}

float BFloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > kFloatInfinity) return sign | 0x7FC0u | (magnitude >> 16);
  return sign | ShiftRounded(magnitude, 16);
}

}  // namespace tessera
