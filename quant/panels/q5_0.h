// Q5_0 in panels: 2 tiles of (256 B of nibbles + 64 B of fifth bits), then 32 FP16 scales: 704 bytes (11 lines).
// The fifth bit of quad j is bit j of the byte at line 4 of the tile, lane and element as in the nibbles.
#pragma once

#include "tessera/quant/panels/q4_0.h"

namespace tessera::panels {

struct Q5_0 : Q4_0 {
  static constexpr int kBits = 5, kTileBytes = 320, kGroupBytes = 704;

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* tile) {
    return L::Or(Q4_0::Quad<L, j>(tile), L::template Field<j, 1, 4>(L::LoadBytes(tile + 256)));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + 640) + kLanes * tile);
  }
  static int32_t Start(const ActivationGroup& a, int) { return a.start16; }
};

}  // namespace tessera::panels
