// Q6_K in panels, per 256 inputs: 32 FP16 scales (64 B), then 8 groups of 32 inputs, each 2 tiles of (256 B of low nibbles + 128 B of
// top bits), then 2 x 32 signed scale bytes, the first 32 for inputs 0-15 of the group: 6720 bytes, 6.5625 bits a weight as in GGUF.
// The top two bits of quad j are bits 2 (j % 4) of the byte in line 4 + j / 4 of the tile.
#pragma once

#include "tessera/quant/panels/q4_0.h"

namespace tessera::panels {

struct Q6_K : Q4_0 {
  static constexpr int kBits = 6, kGroups = 8, kHalves = 2, kTileBytes = 384, kHeaderBytes = 64, kGroupBytes = 832;

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* tile) {
    return L::Or(Q4_0::Quad<L, j>(tile), L::template Field<2 * (j % 4), 3, 4>(L::LoadBytes(tile + 256 + 64 * (j / 4))));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte* group, int tile,
                                                                       int half) {
    return L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header) + kLanes * tile),
                  L::LoadSigned8(reinterpret_cast<const int8_t*>(group) + 768 + 32 * half + kLanes * tile));
  }
  static int32_t Start(const ActivationGroup& a, int half) { return a.start32[half]; }
};

}  // namespace tessera::panels
