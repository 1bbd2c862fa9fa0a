// What all panel formats share: reading halves from unaligned bytes, and where a quad lies in a tile. Kernels include this, too, so
// the functions are static: each instruction set has its own copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/base/half.h"

namespace tessera::panels {

constexpr int kLanes = 16;  // Outputs of a tile.

static inline uint16_t Bits16(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return bits;
}

static inline float Half(const std::byte* p) { return HalfToFloat(Bits16(p)); }

// Byte of quad j, lane l in a tile: sixteen lanes of four bytes a line.
constexpr int QuadOffset(int j, int lane) { return 64 * j + 4 * lane; }

}  // namespace tessera::panels
