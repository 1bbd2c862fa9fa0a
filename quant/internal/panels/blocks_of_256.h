// The K formats in panels. Per 256 inputs: 32 FP16 factors of the scales and, if the format has minima, 32 of the minima. Then 8 groups of
// 32 inputs; a group is two tiles of codes, and one byte per scale and minimum. Scales are next to their codes: at the end of the 256
// inputs, scales would cost a fifth of the read speed.
//
// A weight is factor * scale * (code - kZero) - minimum factor * minimum. factor * scale is exact in FP32 (11 + 8 bits at most).
#pragma once

#include "tessera/quant/internal/panels/tile_codes.h"

namespace tessera::panels {

template <int kLow, int kHigh, int kZeroCode, int kScalesOfGroup, bool kMinima>
struct BlockOf256 : TileCodes<kLow, kHigh> {
  static constexpr int kGroups = 8, kHalves = kScalesOfGroup, kZero = kZeroCode;
  static constexpr bool kHasMinimum = kMinima;
  static constexpr int kHeaderBytes = kHasMinimum ? 128 : 64;
  static constexpr int kScalesAt = 2 * TileCodes<kLow, kHigh>::kTileBytes, kMinimaAt = kScalesAt + 32 * kHalves;
  static constexpr int kGroupBytes = kMinimaAt + (kHasMinimum ? 32 * kHalves : 0);

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte* group, int tile,
                                                                       int half) {
    return L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header) + kLanes * tile),
                  L::LoadSigned8(reinterpret_cast<const int8_t*>(group) + kScalesAt + 32 * half + kLanes * tile));
  }
  // Negative, because GGUF subtracts the minimum.
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte* header, const std::byte* group, int tile,
                                                                         int half) {
    return L::Negate(L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header + 64) + kLanes * tile),
                            L::LoadSigned8(reinterpret_cast<const int8_t*>(group) + kMinimaAt + 32 * half + kLanes * tile)));
  }

  static void PutScale(int scale, int minimum, std::byte* group, int output, int half) {
    group[kScalesAt + 32 * half + output] = static_cast<std::byte>(scale);
    if (kHasMinimum) group[kMinimaAt + 32 * half + output] = static_cast<std::byte>(minimum);
  }
  static int ScaleAt(const std::byte* group, int output, int half) {
    return static_cast<int8_t>(group[kScalesAt + 32 * half + output]);
  }
  static int MinimumAt(const std::byte* group, int output, int half) {
    return kHasMinimum ? static_cast<int8_t>(group[kMinimaAt + 32 * half + output]) : 0;
  }
};

struct Q3_K : BlockOf256<2, 1, /*kZeroCode=*/4, /*kScalesOfGroup=*/2, /*kMinima=*/false> {};    // 3648 bytes
struct Q4_K : BlockOf256<4, 0, /*kZeroCode=*/0, /*kScalesOfGroup=*/1, /*kMinima=*/true> {};     // 4736
struct Q5_K : BlockOf256<4, 1, /*kZeroCode=*/0, /*kScalesOfGroup=*/1, /*kMinima=*/true> {};     // 5760
struct Q6_K : BlockOf256<4, 2, /*kZeroCode=*/32, /*kScalesOfGroup=*/2, /*kMinima=*/false> {};   // 6720

// A scale and its minimum share a byte, as in the file: scale low, minimum high. 2688 bytes.
struct Q2_K : BlockOf256<2, 0, /*kZeroCode=*/0, /*kScalesOfGroup=*/2, /*kMinima=*/true> {
  static constexpr int kGroupBytes = kMinimaAt;

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte* group, int tile,
                                                                       int half) {
    return L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header) + kLanes * tile), Nibbles<L, 0>(group, tile, half));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte* header, const std::byte* group, int tile,
                                                                         int half) {
    return L::Negate(
        L::Mul(L::LoadHalf(reinterpret_cast<const uint16_t*>(header + 64) + kLanes * tile), Nibbles<L, 4>(group, tile, half)));
  }

  static void PutScale(int scale, int minimum, std::byte* group, int output, int half) {
    group[kScalesAt + 32 * half + output] = static_cast<std::byte>(scale | minimum << 4);
  }
  static int ScaleAt(const std::byte* group, int output, int half) { return BlockOf256::ScaleAt(group, output, half) & 15; }
  static int MinimumAt(const std::byte* group, int output, int half) { return BlockOf256::ScaleAt(group, output, half) >> 4 & 15; }

 private:
  template <typename L, int kShift>
  static inline __attribute__((always_inline)) typename L::Float Nibbles(const std::byte* group, int tile, int half) {
    return L::template LoadNibbles<kShift>(reinterpret_cast<const uint8_t*>(group) + kScalesAt + 32 * half + kLanes * tile);
  }
};

// TQ1_0 and TQ2_0, stored alike: codes of two bits around 1, and no scales except the factor. 2112 bytes.
struct Ternary : BlockOf256<2, 0, /*kZeroCode=*/1, /*kScalesOfGroup=*/1, /*kMinima=*/false> {
  static constexpr int kGroupBytes = kScalesAt;

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte*, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(header) + kLanes * tile);
  }
  static void PutScale(int, int, std::byte*, int, int) {}
  static int ScaleAt(const std::byte*, int, int) { return 1; }
};

}  // namespace tessera::panels
