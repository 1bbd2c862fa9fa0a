// F32, F16 and BF16 in panels: for each input, 32 adjacent weights, one per output (128 or 64 bytes). Rows of activations stay in FP32. A
// product is one FMA chain per output, ascending over the inputs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::panels {

struct F32 {
  static constexpr int kBytes = 4;
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Load(const std::byte* p) {
    return L::Load(reinterpret_cast<const float*>(p));
  }
};

struct F16 {
  static constexpr int kBytes = 2;
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Load(const std::byte* p) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(p));
  }
};

struct BF16 {
  static constexpr int kBytes = 2;
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Load(const std::byte* p) {
    return L::LoadBFloat16(reinterpret_cast<const uint16_t*>(p));
  }
};

}  // namespace tessera::panels
