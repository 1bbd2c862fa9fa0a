// Q4_1 in panels: Q4_0's nibbles, then 32 FP16 scales and 32 FP16 minima: 640 bytes (10 lines) for 32 outputs x 32 inputs.
// A weight is scale * nibble + minimum, so nothing has to be subtracted: sums start at 0.
#pragma once

#include "tessera/quant/panels/q4_0.h"

namespace tessera::panels {

struct Q4_1 : Q4_0 {
  static constexpr int kGroupBytes = 640;
  static constexpr bool kHasMinimum = true;

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte*, const std::byte* group, int tile) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + 576) + kLanes * tile);
  }
  static int32_t Start(const ActivationGroup&, int) { return 0; }
};

}  // namespace tessera::panels
