// A panel in the form for passes of many rows: one byte per code, scales and minima in FP32. A few groups at a time are prepared, small
// enough for the first-level cache, and all rows use these groups.
//
//   alignas(64) std::byte prepared[kGroups * PreparedOf<panels::Q5_0>::kGroupBytes];
//   PreparePanel<L, panels::Q5_0>(panel, first_group, kGroups, prepared);      // Groups first_group to first_group + kGroups - 1.
//
// Codes of two planes and scales of two halves cost a pass of five rows up to a quarter of the pass's time. Prepared once for dozens of
// rows, the cost is a few hundredths. The other formats are not worth preparing (docs/kernels.md).
#pragma once

#include <cstdint>

#include "tessera/quant/internal/panels/tile_codes.h"
#include "tessera/quant/kernels/panel_sums.h"
#include "tessera/quant/kernels/unrolled.h"

namespace tessera {

// A format of the kernel (docs/adding_a_block_format.md). A group is two tiles of codes, then scales and minima. Each half and tile has a
// line of scales and, if the format has minima, a line of minima.
template <int kCodeBits, int kZeroCode, int kScalesOfGroup, bool kMinima>
struct PreparedPanel {
  static constexpr int kBits = kCodeBits, kZero = kZeroCode, kHalves = kScalesOfGroup, kGroups = 1, kHeaderBytes = 0;
  static constexpr bool kHasMinimum = kMinima;
  static constexpr int kTileBytes = 8 * panels::kLineBytes, kScalesAt = kTiles * kTileBytes;
  static constexpr int kScaleBytes = panels::kLineBytes * (kMinima ? 2 : 1);
  static constexpr int kGroupBytes = kScalesAt + kTiles * kHalves * kScaleBytes;

  static constexpr int ScaleAt(int tile, int half) { return kScalesAt + (half * kTiles + tile) * kScaleBytes; }
  static constexpr int MinimumAt(int tile, int half) { return ScaleAt(tile, half) + panels::kLineBytes; }

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte*, const std::byte* tile) {
    return L::LoadBytes(tile + panels::kLineBytes * j);
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int half) {
    return L::Load(reinterpret_cast<const float*>(group + ScaleAt(tile, half)));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte*, const std::byte* group, int tile, int half) {
    return L::Load(reinterpret_cast<const float*>(group + MinimumAt(tile, half)));
  }
};

template <typename Format>
using PreparedOf = PreparedPanel<Format::kBits, Format::kZero, Format::kHalves, Format::kHasMinimum>;

template <typename Format>
constexpr bool kIsPrepared = false;
template <int kCodeBits, int kZeroCode, int kScalesOfGroup, bool kMinima>
constexpr bool kIsPrepared<PreparedPanel<kCodeBits, kZeroCode, kScalesOfGroup, kMinima>> = true;

template <typename Format>
constexpr bool kWorthPreparing = Format::kHasHighPlane || Format::kHalves == 2;

template <typename L, typename Format>
inline TESSERA_INLINED void PrepareGroup(const std::byte* header, const std::byte* group, std::byte* out) {
  using Prepared = PreparedOf<Format>;
  Unrolled(Constants<kTiles * 8>(), [&](auto line) TESSERA_INLINED {
    constexpr int kTile = line.value / 8, kQuad = line.value % 8;
    const typename L::Bytes codes = Format::template Quad<L, kQuad>(header, group + kTile * Format::kTileBytes);
    L::StoreBytes(out + kTile * Prepared::kTileBytes + panels::kLineBytes * kQuad, codes);
  });
  for (int half = 0; half < Format::kHalves; ++half) {
    for (int tile = 0; tile < kTiles; ++tile) {
      L::Store(reinterpret_cast<float*>(out + Prepared::ScaleAt(tile, half)), Format::template Scale<L>(header, group, tile, half));
      if constexpr (Format::kHasMinimum) {
        const typename L::Float minimum = Format::template Minimum<L>(header, group, tile, half);
        L::Store(reinterpret_cast<float*>(out + Prepared::MinimumAt(tile, half)), minimum);
      }
    }
  }
}

template <typename L, typename Format>
void PreparePanel(const std::byte* panel, int64_t first, int64_t count, std::byte* out) {
  constexpr int kUnit = Format::kHeaderBytes + Format::kGroups * Format::kGroupBytes;
  for (int64_t g = first; g < first + count; ++g, out += PreparedOf<Format>::kGroupBytes) {
    const std::byte* header = panel + g / Format::kGroups * kUnit;
    PrepareGroup<L, Format>(header, header + Format::kHeaderBytes + g % Format::kGroups * Format::kGroupBytes, out);
  }
}

}  // namespace tessera
