// The grids of the IQ formats: an index of 8 to 11 bits selects eight codes of 2 bits, or four codes of 4 bits.
//
//   const uint16_t entry = kGridIQ2_XS[index];
//   const int code = entry >> 2 * i & 3;               // Value i of eight; in kGridIQ3_S: entry >> 4 * i & 15, of four.
//
// The format's code book gives the number of a code (quant/codebook.h). Thread-safe (constants).
#pragma once

#include <array>
#include <cstdint>

namespace tessera {

extern const std::array<uint16_t, 256> kGridIQ2_XXS;
extern const std::array<uint16_t, 512> kGridIQ2_XS;
extern const std::array<uint16_t, 1024> kGridIQ2_S;
extern const std::array<uint16_t, 256> kGridIQ3_XXS;
extern const std::array<uint16_t, 512> kGridIQ3_S;
extern const std::array<uint16_t, 2048> kGridIQ1;

}  // namespace tessera
