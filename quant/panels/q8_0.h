// Q8_0 in panels: 2 tiles x 512 B of bytes with 128 added, then 32 FP16 scales: 1088 bytes (17 lines) for 32 outputs x 32 inputs.
// With 128 added the bytes are unsigned, as the dot product wants its first operand; the sum's start takes it away again.
#pragma once

#include "tessera/quant/activation.h"
#include "tessera/quant/panels/block_bytes.h"

namespace tessera::panels {

struct Q8_0 {
  static constexpr int kBits = 8, kGroups = 1, kHalves = 1, kTileBytes = 512, kHeaderBytes = 0, kGroupBytes = 1088;
  static constexpr bool kHasMinimum = false;

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* tile) {
    return L::LoadBytes(tile + 64 * j);
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + 1024) + kLanes * tile);
  }
  static int32_t Start(const ActivationGroup& a, int) { return a.start128; }
};

}  // namespace tessera::panels
