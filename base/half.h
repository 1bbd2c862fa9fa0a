// Conversions between FP32 and the two 16-bit float formats, exact or rounded to nearest even, on any CPU.
//
//   float scale = HalfToFloat(bits);         // exact, subnormals, infinities and NaN included
//   uint16_t stored = FloatToHalf(value);    // rounds to nearest even; too large becomes infinity
//
// Thread-safe (pure functions). The vector kernels use the CPU's own conversion, which gives the same bits for every number.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

}  // namespace tessera
