// Q4_0 in panels: 2 tiles x 256 B of nibbles, then 32 FP16 scales: 576 bytes (9 lines) for 32 outputs x 32 inputs.
// A GGUF block holds input k in the low and k + 16 in the high nibble of byte k, which is quad j low and quad j + 4 high.
#pragma once

#include "tessera/quant/activation.h"
#include "tessera/quant/panels/block_bytes.h"

namespace tessera::panels {

struct Q4_0 {
  static constexpr int kBits = 4, kGroups = 1, kHalves = 1, kTileBytes = 256, kHeaderBytes = 0, kGroupBytes = 576;
  static constexpr bool kHasMinimum = false;

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* tile) {
    const typename L::Bytes line = L::LoadBytes(tile + 64 * (j % 4));
    return j < 4 ? L::LowNibbles(line) : L::HighNibbles(line);
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + 512) + kLanes * tile);
  }
  static int32_t Start(const ActivationGroup& a, int) { return a.start8; }
};

}  // namespace tessera::panels
