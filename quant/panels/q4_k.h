// Q4_K in panels, per 256 inputs: 32 FP16 scales of scales and 32 of minima (128 B), then 8 groups of 32 inputs, each Q4_0's 512 B of
// nibbles + 32 scale bytes + 32 minimum bytes: 4736 bytes, 4.625 bits a weight. Scales stay next to their quants: at the end of
// the 256 inputs they would cost a fifth of the read speed. scale * byte is exact in FP32 (11 + 6 bits).
#pragma once

#include "tessera/quant/panels/q4_0.h"

namespace tessera::panels {

struct Q4_K : Q4_0 {
  static constexpr int kGroups = 8, kHeaderBytes = 128, kGroupBytes = 576;
  static constexpr bool kHasMinimum = true;

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte* group, int tile, int) {
    return L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header) + kLanes * tile),
                  L::LoadUnsigned8(reinterpret_cast<const uint8_t*>(group) + 512 + kLanes * tile));
  }
  // GGUF subtracts the minimum.
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte* header, const std::byte* group, int tile) {
    return L::Negate(L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header + 64) + kLanes * tile),
                            L::LoadUnsigned8(reinterpret_cast<const uint8_t*>(group) + 544 + kLanes * tile)));
  }
  static int32_t Start(const ActivationGroup&, int) { return 0; }
};

}  // namespace tessera::panels
