// Code books: the sixteen numbers of a 4-bit code, for weights that even steps fit badly; four or eight numbers for shorter codes.
//
//   int value = kIq4NlCodebook[code];                                      // -127 to 113
//   alignas(16) constexpr UnsignedCodebook table = ShiftedBy128(kIq4NlCodebook);   // 1 to 241, for L::Lookup
//
// Kernels look up sixteen codes at a time and multiply unsigned bytes, so kernels take the numbers with 128 added. The start of the integer
// sum subtracts the 128 again (ActivationGroup::start128). Thread-safe (constants).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

using Codebook = std::array<int8_t, 16>;
using UnsignedCodebook = std::array<uint8_t, 16>;

// GGUF's IQ4_NL: steps grow with the magnitude, as weights become rarer away from zero.
inline constexpr Codebook kIq4NlCodebook = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// The codes of the grids: a magnitude, or a number before the shift; from code 8 on the same with the other sign or shift. Zeros mark codes
// that are never used. IQ1's numbers are -1, 0 and 1, shifted up or down by an eighth, times eight.
inline constexpr Codebook kIq1Codebook = {-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0};
inline constexpr Codebook kIq2Codebook = {8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0};
inline constexpr Codebook kIq3XxsCodebook = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62};
inline constexpr Codebook kIq3SCodebook = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};

// T2 and T3, codes of two and of three bits. The numbers are the result of Lloyd's algorithm for groups of 32 Gaussian numbers under the
// best scale of either sign. Uneven, as the largest number can always be the negative end. The negative end is a power of two, so constant
// groups of FP16 numbers are exact.
inline constexpr Codebook kT2Codebook = {-128, -44, 19, 91};
inline constexpr Codebook kT3Codebook = {-128, -77, -45, -18, 7, 34, 65, 106};

// The floating-point numbers of four bits (E2M1), times two: MXFP4 and NVFP4.
inline constexpr Codebook kFp4Codebook = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

constexpr UnsignedCodebook ShiftedBy128(const Codebook& codebook) {
  UnsignedCodebook shifted = {};
  for (size_t i = 0; i < codebook.size(); ++i) shifted[i] = static_cast<uint8_t>(codebook[i] + 128);
  return shifted;
}

}  // namespace tessera
