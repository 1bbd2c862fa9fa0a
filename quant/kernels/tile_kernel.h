// Multiplies rows by the panels of a tile matrix (quant/tile_kernels.h): a template over lanes (instruction set) and the form of the tiles.
//
// Per output and row these operations and no others, in this order (docs/tiles.md):
//   sum = fma(weight, x, sum) for ascending inputs, the padding's zeros included
//   sum = sum * scale            matrices with scales per output or per matrix
//   sum = sum + bias             where there is one
//   y = FP32(FP16(sum))
// Neither the number of rows computed together nor sums that wait in memory change an operation. So a row's bits are equal alone and among
// other rows.
//
// A few rows keep their sums in registers over a whole panel, and each tile is widened in registers, too. For more rows, some tiles are
// widened into the first-level cache and multiplied by block after block of rows; the sums wait in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tessera/quant/kernels/tile_formats.h"
#include "tessera/quant/tile_kernels.h"

namespace tessera {

// Widening a tile costs as much as multiplying five rows with AVX-512, or some fifteen rows with AVX2: little among kMostTileRows rows.
constexpr int kMostTileRows = 128;
constexpr int kTilesWidened = 4;       // 16 KiB.
constexpr int64_t kTileAhead = 4096;   // As kPrefetchAhead (panel_kernel.h).

// Most rows whose sums of `halves` x 16 outputs stay in registers, together with the weights of an input.
#ifdef TESSERA_SANITIZED   // Each number of rows compiles a copy.
constexpr int kMostRowsOfBlock = 3;
#else
constexpr int kMostRowsOfBlock = 16;
#endif
template <typename L>
constexpr int kTileHalves = L::kSums >= 24 ? 2 : 1;
template <typename L>
constexpr int kTileRows = std::min(kMostRowsOfBlock, L::kSums / kTileHalves<L>);
// Few rows: the sums leave registers for a tile's tables and codes.
template <typename L>
constexpr int kFewTileRows = std::clamp(L::kSums / 6, 1, kMostRowsOfBlock);

// A panel, and the rows to multiply by the panel.
template <typename L>
struct TileRun {
  const std::byte* panel;
  int64_t tiles;
  typename L::Float table;
  int64_t rows;
  const float* x;
  int64_t x_stride;
  const float* bias;    // From the panel's first output on, or null.
  float* y;             // As bias.
  int64_t y_stride;
  int64_t outputs;      // Number of outputs in the panel: 32, or fewer in the last panel.
};

template <typename L, typename Format>
TileRun<L> TileRunOf(TileScheme scheme, const TileJob& job, int64_t panel, int64_t row, int64_t rows) {
  const int64_t tiles = (job.in_features + 31) / 32, first = 32 * panel;
  typename L::Float table = L::Zero();
  if constexpr (Format::kHasTable) table = L::LoadHalf(TileTable(scheme.code).data());
  return {.panel = job.panels + panel * (Format::kHeader + tiles * Format::kBytes),
          .tiles = tiles,
          .table = table,
          .rows = rows,
          .x = job.x + row * job.x_stride,
          .x_stride = job.x_stride,
          .bias = job.bias == nullptr ? nullptr : job.bias + first,
          .y = job.y + row * job.y_stride + first,
          .y_stride = job.y_stride,
          .outputs = std::min<int64_t>(32, job.out_features - first)};
}

// Finishes and stores sixteen outputs of a row.
template <typename L, typename Format>
inline TESSERA_INLINED void FinishTileSum(const TileRun<L>& run, int64_t row, int half, typename L::Float sum) {
  const int count = static_cast<int>(std::min<int64_t>(16, run.outputs - 16 * half));
  if (count <= 0) return;
  if constexpr (Format::kHeader > 0) sum = L::Mul(sum, L::LoadHalf(reinterpret_cast<const uint16_t*>(run.panel) + 16 * half));
  if (run.bias != nullptr) {
    const float* const bias = run.bias + 16 * half;
    sum = L::Add(sum, count == 16 ? L::Load(bias) : L::LoadPartial(bias, count));
  }
  float* const y = run.y + row * run.y_stride + 16 * half;
  if (count == 16) L::Store(y, L::RoundToHalf(sum));
  else L::StorePartial(y, L::RoundToHalf(sum), count);
}

template <typename Format>
inline __attribute__((always_inline)) void FetchTileAhead(const std::byte* tile) {
  for (int64_t at = 0; at < Format::kBytes; at += 64) __builtin_prefetch(tile + kTileAhead + at, 0, 3);
}

// Multiplies rows [0, kRows) of a run.
template <typename L, typename Format, int kRows>
void MultiplyFewRows(const TileRun<L>& run) {
  typename L::Float sums[kRows][2];
  Unrolled(Constants<2 * kRows>(), [&](auto i) TESSERA_INLINED { sums[i.value / 2][i.value % 2] = L::Zero(); });
  const typename L::Float table = run.table;
  const std::byte* tile = run.panel + Format::kHeader;
  const float* x = run.x;
  const int64_t x_stride = run.x_stride;
  for (int64_t t = 0; t < run.tiles; ++t, tile += Format::kBytes, x += 32) {
    FetchTileAhead<Format>(tile);
    Format::template Widen<L>(tile, table, [&](int input, typename L::Float low, typename L::Float high) TESSERA_INLINED {
      Unrolled(Constants<kRows>(), [&](auto r) TESSERA_INLINED {
        const typename L::Float value = L::Set(x[r.value * x_stride + input]);
        sums[r.value][0] = L::Fma(low, value, sums[r.value][0]);
        sums[r.value][1] = L::Fma(high, value, sums[r.value][1]);
      });
    });
  }
  Unrolled(Constants<2 * kRows>(), [&](auto i) TESSERA_INLINED {
    FinishTileSum<L, Format>(run, i.value / 2, i.value % 2, sums[i.value / 2][i.value % 2]);
  });
}

// A block of rows and widened weights.
struct TileBlock {
  const float* weights;    // [inputs, 32].
  int64_t inputs;          // Whole tiles.
  const float* x;
  int64_t x_stride;
  const float* next;       // The start of the next block's rows, which are prefetched meanwhile.
  float* sums;             // [rows, 32].
};

// sums += rows x weights, for kHalves x 16 outputs from output 16 kHalf up.
template <typename L, int kRows, int kHalf, int kHalves>
inline TESSERA_INLINED void AddTileHalves(const TileBlock& block) {
  typename L::Float lanes[kRows][kHalves];
  Unrolled(Constants<kRows * kHalves>(), [&](auto i) TESSERA_INLINED {
    lanes[i.value / kHalves][i.value % kHalves] = L::Load(block.sums + i.value / kHalves * 32 + 16 * (kHalf + i.value % kHalves));
  });
  const float* weights = block.weights + 16 * kHalf;
  const float* x = block.x;
  const float* next = block.next;
  const int64_t x_stride = block.x_stride;
  for (int64_t left = block.inputs; left > 0; left -= 16, next += 16) {
    if constexpr (kHalf == 0) {
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(next + r * x_stride, 0, 3);
    }
    for (int i = 0; i < 16; ++i, ++x, weights += 32) {
      typename L::Float w[kHalves];
      for (int h = 0; h < kHalves; ++h) w[h] = L::Load(weights + 16 * h);
      Unrolled(Constants<kRows>(), [&](auto r) TESSERA_INLINED {
        const typename L::Float value = L::Set(x[r.value * x_stride]);
        Unrolled(Constants<kHalves>(), [&](auto h) TESSERA_INLINED {
          lanes[r.value][h.value] = L::Fma(w[h.value], value, lanes[r.value][h.value]);
        });
      });
    }
  }
  Unrolled(Constants<kRows * kHalves>(), [&](auto i) TESSERA_INLINED {
    L::Store(block.sums + i.value / kHalves * 32 + 16 * (kHalf + i.value % kHalves), lanes[i.value / kHalves][i.value % kHalves]);
  });
}

template <typename L, int kRows>
void AddTiles(const TileBlock& block) {
  AddTileHalves<L, kRows, 0, kTileHalves<L>>(block);
  if constexpr (kTileHalves<L> == 1) AddTileHalves<L, kRows, 1, 1>(block);
}

// Calls f with `rows` as a constant. REQUIRES: 1 <= rows <= kMost.
template <int kMost, typename F>
inline TESSERA_INLINED void WithTileRows(int64_t rows, F f) {
  [&]<int... kFewer>(std::integer_sequence<int, kFewer...>) TESSERA_INLINED {
    static_cast<void>(((rows == kFewer + 1 && (f(std::integral_constant<int, kFewer + 1>()), true)) || ...));
  }(Constants<kMost>());
}

// Returns the rows of the next block when `left` rows remain. Avoids a short block behind a whole block.
template <typename L>
int64_t RowsOfTileBlock(int64_t left) {
  constexpr int64_t kMost = kTileRows<L>;
  return left <= kMost ? left : left < 2 * kMost ? (left + 1) / 2 : kMost;
}

// Multiplies all rows of a run, at most kMostTileRows.
template <typename L, typename Format>
void MultiplyManyRows(const TileRun<L>& run) {
  alignas(64) float sums[kMostTileRows * 32], weights[kTilesWidened * 32 * 32];
  for (int64_t i = 0; i < 2 * run.rows; ++i) L::Store(sums + 16 * i, L::Zero());
  const std::byte* tile = run.panel + Format::kHeader;
  for (int64_t t = 0; t < run.tiles; t += kTilesWidened) {
    const int64_t count = std::min<int64_t>(kTilesWidened, run.tiles - t);
    float* to = weights;
    for (int64_t i = 0; i < count; ++i, tile += Format::kBytes, to += 32 * 32) {
      FetchTileAhead<Format>(tile);
      Format::template Widen<L>(tile, run.table, [to](int input, typename L::Float low, typename L::Float high) TESSERA_INLINED {
        L::Store(to + 32 * input, low);
        L::Store(to + 32 * input + 16, high);
      });
    }
    const float* const x = run.x + 32 * t;
    TileBlock block = {.weights = weights, .inputs = 32 * count, .x = x, .x_stride = run.x_stride, .next = x, .sums = sums};
    for (int64_t left = run.rows; left > 0;) {
      const int64_t rows = RowsOfTileBlock<L>(left);
      left -= rows;
      block.next = left > 0 ? block.x + rows * run.x_stride : x + 32 * count;
      WithTileRows<kTileRows<L>>(rows, [&block](auto r) TESSERA_INLINED { AddTiles<L, r.value>(block); });
      block.x += rows * run.x_stride;
      block.sums += 32 * rows;
    }
  }
  for (int64_t r = 0; r < run.rows; ++r) {
    for (int half = 0; half < 2; ++half) FinishTileSum<L, Format>(run, r, half, L::Load(sums + 32 * r + 16 * half));
  }
}

// Cuts rows evenly, so that weights are seldom widened for a few rows alone. The rows of a cut stay in the second-level cache from panel to
// panel.
template <typename L, typename Format>
void MultiplyTilesOf(TileScheme scheme, const TileJob& job) {
  const int64_t cuts = (job.rows + kMostTileRows - 1) / kMostTileRows;
  for (int64_t cut = 0; cut < cuts; ++cut) {
    const int64_t begin = job.rows * cut / cuts, rows = job.rows * (cut + 1) / cuts - begin;
    for (int64_t p = job.panel_begin; p < job.panel_end; ++p) {
      const TileRun<L> run = TileRunOf<L, Format>(scheme, job, p, begin, rows);
      if (rows <= kFewTileRows<L>) {
        WithTileRows<kFewTileRows<L>>(rows, [&run](auto r) TESSERA_INLINED { MultiplyFewRows<L, Format, r.value>(run); });
      } else {
        MultiplyManyRows<L, Format>(run);
      }
    }
  }
}

template <typename L>
void MultiplyTiles(TileScheme scheme, const TileJob& job) {
  const bool four = BitsOf(scheme.code) == 4;
  if (scheme.code == TileCode::kHalf) return MultiplyTilesOf<L, HalfTiles>(scheme, job);
  switch (scheme.scales) {
    case TileScales::kTileGroup:
      return four ? MultiplyTilesOf<L, CodedTiles<TileScales::kTileGroup, 4>>(scheme, job)
                  : MultiplyTilesOf<L, CodedTiles<TileScales::kTileGroup, 8>>(scheme, job);
    case TileScales::kCommonGroup:
      return four ? MultiplyTilesOf<L, CodedTiles<TileScales::kCommonGroup, 4>>(scheme, job)
                  : MultiplyTilesOf<L, CodedTiles<TileScales::kCommonGroup, 8>>(scheme, job);
    case TileScales::kChannel:
    case TileScales::kTensor:
      return four ? MultiplyTilesOf<L, CodedTiles<TileScales::kChannel, 4>>(scheme, job)
                  : MultiplyTilesOf<L, CodedTiles<TileScales::kChannel, 8>>(scheme, job);
  }
}

}  // namespace tessera
