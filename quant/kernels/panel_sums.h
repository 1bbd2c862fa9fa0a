// Loads and stores the sums of a pass: R rows times the outputs of a panel.
//
//   PanelSums<L, kRows> sums = LoadSums<L, kRows>(pass);             // Zeros, or the sums so far.
//   StoreSums<L, kRows>(sums, pass.y, pass.y_stride, pass.outputs);  // No output that the panel lacks is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tessera/quant/kernels/unrolled.h"

namespace tessera {

constexpr int kTiles = 2;   // A panel has two tiles of 16 outputs.

// One core must have ~85 ns x 40 GB/s = 3.4 KB in flight for its share of the memory bandwidth. So the first-level cache fetches 4 KB
// ahead. The second-level cache can wait for more lines at once and fetches three times as far. So memory reads continue while products
// stall the first-level fetches.
constexpr int64_t kPrefetchAhead = 4096, kPrefetchFurther = 12288;

// The rows of a pass, and the destination of their sums.
struct PanelPassRows {
  const std::byte* x;
  int64_t x_stride;         // In bytes.
  int64_t groups;
  float* y;
  int64_t y_stride;
  int64_t outputs;          // Number of outputs in the panel: 32, or fewer in the last panel.
  bool go_on = false;       // Sums start from y, not from zero.
};

template <typename L, int kRows>
struct PanelSums {
  typename L::Float lanes[kRows][kTiles];
};

// Calls f(row, tile) with constants for both: sums with a variable index would be in memory.
template <int kRows, typename F>
inline TESSERA_INLINED void ForEachSum(F f) {
  Unrolled(Constants<kRows * kTiles>(), [&](auto i) TESSERA_INLINED {
    f(std::integral_constant<int, i.value / kTiles>(), std::integral_constant<int, i.value % kTiles>());
  });
}

template <typename L, int kRows>
inline TESSERA_INLINED PanelSums<L, kRows> LoadSums(const PanelPassRows& pass) {
  PanelSums<L, kRows> sums;
  const int64_t outputs = pass.outputs, stride = pass.y_stride;
  if (!pass.go_on) {
    ForEachSum<kRows>([&](auto r, auto t) TESSERA_INLINED { sums.lanes[r.value][t.value] = L::Zero(); });
  } else if (outputs >= 16 * kTiles) {
    ForEachSum<kRows>([&](auto r, auto t) TESSERA_INLINED {
      sums.lanes[r.value][t.value] = L::Load(pass.y + r.value * stride + 16 * t.value);
    });
  } else {
    ForEachSum<kRows>([&](auto r, auto t) TESSERA_INLINED {
      const int exist = static_cast<int>(std::clamp<int64_t>(outputs - 16 * t.value, 0, 16));
      const float* y = pass.y + r.value * stride + 16 * t.value;
      sums.lanes[r.value][t.value] = exist == 0 ? L::Zero() : exist == 16 ? L::Load(y) : L::LoadPartial(y, exist);
    });
  }
  return sums;
}

template <typename L, int kRows>
inline TESSERA_INLINED void StoreSums(const PanelSums<L, kRows>& sums, float* y, int64_t y_stride, int64_t outputs) {
  if (outputs >= 16 * kTiles) {
    ForEachSum<kRows>([&](auto r, auto t) TESSERA_INLINED {
      L::Store(y + r.value * y_stride + 16 * t.value, sums.lanes[r.value][t.value]);
    });
    return;
  }
  ForEachSum<kRows>([&](auto r, auto t) TESSERA_INLINED {
    const int exist = static_cast<int>(std::clamp<int64_t>(outputs - 16 * t.value, 0, 16));
    float* to = y + r.value * y_stride + 16 * t.value;
    if (exist == 16) L::Store(to, sums.lanes[r.value][t.value]);
    else if (exist > 0) L::StorePartial(to, sums.lanes[r.value][t.value], exist);
  });
}

}  // namespace tessera
