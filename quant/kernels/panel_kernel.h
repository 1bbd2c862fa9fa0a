// The one quantized kernel: R rows times one panel of 32 outputs, a template over lanes (instruction set) and block format.
//
//   template void PanelsOf<LanesAvx2, panels::Q4_0, ActivationGroup>(const PanelJob& job);   // compiles the products of one format
//
// Include only from files that compile products (panels_*.cc.in, prepared*.cc.in): each format compiles several copies of the kernel.
//
// Per group of 32 inputs and (row, tile of 16 outputs) these operations and no others, in this order (docs/numerics.md):
//   I = start; for j in 0..7: I += w[j] . a[j]         exact in int32, so any order
//   p = weight_scale * activation_scale                one rounding
//   acc = fma(float(I), p, acc)                        with rows of 8 bits |I| < 2^24: the conversion is exact; else it rounds
//   acc = fma(weight_minimum, scaled_sum, acc)         formats with a minimum only
// A format with two halves (Q2_K, Q3_K, Q6_K) performs the operations once per half. Groups ascend. R changes the use of registers, never
// an operation. So a row's bits are equal alone and among 64 other rows (docs/architecture.md, idea 5; tests/quant/matmul_test.cc).
//
// R <= 8 (kRowsAtOnce of L::Products8 and L::Products16), because registers are few: R x 2 tiles x (integer + float sum) and the current
// weights fill 32 vector registers at R = 6. Float sums wait in the first-level cache with more rows. Sums also wait there with 16
// registers, where one tile at a time is multiplied (kTilesTogether).
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tessera/base/fetch.h"
#include "tessera/quant/kernels/panel_products.h"
#include "tessera/quant/kernels/panel_sums.h"
#include "tessera/quant/kernels/prepared_panel.h"
#include "tessera/quant/kernels/quantize_kernel.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {

#ifdef TESSERA_SANITIZED
constexpr int kMostRowsAtOnce = 3;  // Each number of rows compiles a copy, which takes long with a sanitizer's checks.
#else
constexpr int kMostRowsAtOnce = 8;
#endif
constexpr int64_t kLine = 64;
// With at most this many rows, products wait for memory; products of more rows take longer than reading the weights.
constexpr int64_t kRowsThatWait = 15;

// The prefetches of a pass during its computation. A pass fetches either the later part of its own stream, or its part of the next panel.
// If several passes walk a panel, each pass also fetches the next pass's rows, group by group; all rows together are too many for the
// first-level cache.
struct Prefetch {
  const std::byte* next;    // The first byte to fetch.
  int lines_per_group;
  bool further;             // Also fetch into the second-level cache, further ahead: with few passes, memory may not keep up.
  int64_t next_rows;        // Distance in bytes from this pass's rows to the next pass's rows; 0: there is only one pass.
};

// Returns the start of an integer sum: minus the code of zero (less the part that TakePlane subtracts) times the sum of the activations.
// With halves, the sum is over the half's sixteen activations.
template <typename L, typename Format, typename Group>
inline __attribute__((always_inline)) int32_t Start(const Group& activations, int half) {
  constexpr int kZero = Format::kZero - ProductsOf<L, Group>::template kTakenOff<Format::kBits>;
  if constexpr (kZero == 0) {
    return 0;
  } else if constexpr (Format::kHalves == 2) {
    static_assert(32 % kZero == 0 || kZero % 32 == 0);
    if constexpr (kZero > 32) return activations.start32[half] * (kZero / 32);
    else return activations.start32[half] / (32 / kZero);  // Exact.
  } else {
    static_assert(kZero == 1 || kZero == 8 || kZero == 16 || kZero == 128);
    if constexpr (kZero == 1) return activations.start8 / 8;  // Exact.
    return kZero == 8 ? activations.start8 : kZero == 16 ? activations.start16 : activations.start128;
  }
}

// Returns the factor of a minimum: scale times the sum of the activations in the minimum's range.
template <typename Format, typename Group>
inline __attribute__((always_inline)) float ScaledSum(const Group& activations, int half) {
  if constexpr (Format::kHalves == 2) return activations.scale * static_cast<float>(activations.start32[half] / -32);
  return activations.scaled_sum;
}

// The value of a constant index, Constant<k>; 0 for an index that a loop counts.
template <int k>
using Constant = std::integral_constant<int, k>;
template <typename Index>
constexpr int kValueOf = 0;
template <int k>
constexpr int kValueOf<Constant<k>> = k;

// Sums the products of the group's half with the tiles at `tiles`, L's kTilesTogether tiles, in integers, exact.
template <typename L, typename Format, int kRows, typename Group, typename Half, int kTogether>
inline TESSERA_INLINED void DotHalf(const std::byte* header, const std::byte* tiles, const Group* const (&rows)[kRows], Half half,
                                    typename L::Int (&integer)[kRows][kTogether]) {
  using Products = ProductsOf<L, Group>;
  constexpr int kQuads = 8 / Format::kHalves;  // Halves are quads 0..3 and 4..7.
  constexpr int kBatch = std::min(kQuads, Products::template kQuadsOfPairs<Format::kBits>);
  const int quads_before = 4 * (half - kValueOf<Half>);  // 0 if the half is a constant.
  tiles += quads_before * panels::kLineBytes;
  for (int r = 0; r < kRows; ++r) {
    for (int t = 0; t < kTogether; ++t) integer[r][t] = L::SetInt(Start<L, Format>(*rows[r], half));
  }
  Unrolled(Constants<Products::template kPlanes<Format::kBits> * kQuads / kBatch>(), [&](auto batch) TESSERA_INLINED {
    constexpr int kPlane = batch.value * kBatch / kQuads, kFirst = kValueOf<Half> * 4 + batch.value * kBatch % kQuads;
    typename Products::Pairs pairs[kRows][kTogether];
    for (int r = 0; r < kRows; ++r) {
      for (int t = 0; t < kTogether; ++t) pairs[r][t] = Products::BeginPairs(integer[r][t]);
    }
    Unrolled(Constants<kBatch>(), [&](auto quad) TESSERA_INLINED {
      constexpr int j = kFirst + quad.value;
      typename Products::Weights weights[kTogether];
      for (int t = 0; t < kTogether; ++t) {
        const typename L::Bytes codes = Format::template Quad<L, j>(header, tiles + t * Format::kTileBytes);
        weights[t] = Products::template TakePlane<Format::kBits, kPlane>(codes);
      }
      for (int r = 0; r < kRows; ++r) {
        for (int t = 0; t < kTogether; ++t) {
          pairs[r][t] = Products::Dot(pairs[r][t], weights[t], rows[r]->values + (j + quads_before) * Group::kQuadBytes);
        }
      }
    });
    for (int r = 0; r < kRows; ++r) {
      for (int t = 0; t < kTogether; ++t) integer[r][t] = Products::template EndPairs<kPlane>(integer[r][t], pairs[r][t]);
    }
  });
}

// Adds the products of the group's half to the sums of L's kTilesTogether tiles, from tile `first` up.
template <typename L, typename Format, typename Group, int kRows, typename Half, typename First>
inline TESSERA_INLINED void AddTiles(const std::byte* header, const std::byte* group, const Group* const* all_rows, int64_t g, Half half,
                                     First first, PanelSums<L, kRows>& sums) {
  constexpr int kTogether = ProductsOf<L, Group>::kTilesTogether;
  const Group* rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = all_rows[r] + g;
    asm volatile("" : "+r"(rows[r]));  // Otherwise GCC keeps the first tile's loads for the second tile, on the stack.
  }
  typename L::Int integer[kRows][kTogether];
  DotHalf<L, Format, kRows>(header, group + first * Format::kTileBytes, rows, half, integer);
  Unrolled(Constants<kTogether>(), [&](auto tile) TESSERA_INLINED {
    const int t = first + tile.value;
    const typename L::Float scale = Format::template Scale<L>(header, group, t, half);
    Unrolled(Constants<kRows>(), [&](auto r) TESSERA_INLINED {
      const typename L::Float product = L::Mul(scale, L::Set(rows[r.value]->scale));
      sums.lanes[r.value][t] = L::Fma(L::ToFloat(integer[r.value][tile.value]), product, sums.lanes[r.value][t]);
    });
    if constexpr (Format::kHasMinimum) {
      const typename L::Float minimum = Format::template Minimum<L>(header, group, t, half);
      Unrolled(Constants<kRows>(), [&](auto r) TESSERA_INLINED {
        sums.lanes[r.value][t] = L::Fma(minimum, L::Set(ScaledSum<Format>(*rows[r.value], half)), sums.lanes[r.value][t]);
      });
    }
  });
}

// Adds to the sums of both tiles. If the sums are in memory, a loop goes over the tiles: half as much code.
template <typename L, typename Format, typename Group, int kRows, typename Half>
inline TESSERA_INLINED void AddGroupHalf(const std::byte* header, const std::byte* group, const Group* const* rows, int64_t g, Half half,
                                         PanelSums<L, kRows>& sums) {
  constexpr int kTogether = ProductsOf<L, Group>::kTilesTogether;
  if constexpr (kRows > L::kRowsOfSumsInRegisters) {
    for (int first = 0; first < kTiles; first += kTogether) AddTiles<L, Format>(header, group, rows, g, half, first, sums);
  } else {
    Unrolled(Constants<kTiles / kTogether>(), [&](auto step) TESSERA_INLINED {
      AddTiles<L, Format>(header, group, rows, g, half, Constant<step.value * kTogether>(), sums);
    });
  }
}

// Adds the products of a group. In a prepared panel a loop goes over the halves, because their quads are consecutive.
template <typename L, typename Format, typename Group, int kRows>
inline TESSERA_INLINED void AddGroup(const std::byte* header, const std::byte* group, const Group* const* rows, int64_t g,
                                     PanelSums<L, kRows>& sums) {
  if constexpr (kIsPrepared<Format>) {
    for (int half = 0; half < Format::kHalves; ++half) AddGroupHalf<L, Format>(header, group, rows, g, half, sums);
  } else {
    AddGroupHalf<L, Format>(header, group, rows, g, Constant<0>(), sums);
    if constexpr (Format::kHalves == 2) AddGroupHalf<L, Format>(header, group, rows, g, Constant<1>(), sums);
  }
}

// Computes y[r][0..outputs) for kRows rows times one panel.
template <typename L, typename Format, typename Group, int kRows>
void PanelRows(const std::byte* panel, const PanelPassRows& pass, const Prefetch& prefetch) {
  const std::byte* next = prefetch.next;
  const int lines = prefetch.lines_per_group, further = prefetch.further ? lines : 0;
  const int64_t next_rows = prefetch.next_rows;
  const Group* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = reinterpret_cast<const Group*>(pass.x + r * pass.x_stride);
  PanelSums<L, kRows> sums = LoadSums<L, kRows>(pass);
  // The lines of the sums are seldom in a cache: in a prompt, each pass touches lines that are a row of y apart.
  for (int r = 0; r < kRows; ++r) {
    for (int t = 0; t < kTiles; ++t) FetchToWrite(pass.y + r * pass.y_stride + 16 * t);
  }
  const std::byte* header = panel;
  for (int64_t g = 0; g < pass.groups; header += Format::kHeaderBytes + Format::kGroups * Format::kGroupBytes) {
    const std::byte* group = header + Format::kHeaderBytes;
    for (int i = 0; i < Format::kGroups; ++i, ++g, group += Format::kGroupBytes) {
      for (int line = 0; line < lines; ++line) __builtin_prefetch(next + line * kLine, 0, 3);
      for (int line = 0; line < further; ++line) __builtin_prefetch(next + (kPrefetchFurther - kPrefetchAhead) + line * kLine, 0, 2);
      next += lines * kLine;
      for (int r = 0; r < (next_rows == 0 ? 0 : kRows); ++r) {
        const std::byte* row = reinterpret_cast<const std::byte*>(rows[r] + g) + next_rows;
        for (size_t line = 0; line < sizeof(Group); line += kLine) __builtin_prefetch(row + line, 0, 3);
      }
      AddGroup<L, Format, Group, kRows>(header, group, rows, g, sums);
    }
  }
  StoreSums<L, kRows>(sums, pass.y, pass.y_stride, pass.outputs);
}

template <typename Products>
constexpr int kRowsOfPass = std::min(Products::kRowsAtOnce, kMostRowsAtOnce);

// Rows per pass with many rows: blocks of five reach the highest rate.
template <typename Products>
constexpr int kRowsOfBlock = std::min(kRowsOfPass<Products>, 5);

// Returns the rows of the next pass when `left` rows remain. Avoids a last pass with a single row after many rows.
template <typename Products>
static constexpr int RowsOfPass(int64_t left) {
  if (left <= kRowsOfPass<Products>) return static_cast<int>(left);
  return left < 2 * kRowsOfBlock<Products> ? static_cast<int>((left + 1) / 2) : kRowsOfBlock<Products>;
}

// Returns the number of passes over a panel for all rows; at least one, for no rows, too.
template <typename Products>
static constexpr int64_t PassesOf(int64_t rows) {
  int64_t passes = 1;
  for (rows -= RowsOfPass<Products>(rows); rows > 0; rows -= RowsOfPass<Products>(rows)) ++passes;
  return passes;
}

// Multiplies the pass's rows, at least kFewest, by a panel. Each number of rows compiles a copy of PanelRows.
template <typename L, typename Format, typename Group, int kFewest>
void RunPass(int rows, const std::byte* panel, const PanelPassRows& pass, const Prefetch& prefetch) {
  [&]<int... kMore>(std::integer_sequence<int, kMore...>) {
    static_cast<void>(((rows == kFewest + kMore && (PanelRows<L, Format, Group, kFewest + kMore>(panel, pass, prefetch), true)) || ...));
  }(std::make_integer_sequence<int, kRowsOfPass<ProductsOf<L, Group>> - kFewest + 1>());
}

// As RunPass, for prepared panels, which several formats share. quant/kernels/prepared_kernel.h has the definition, and prepared.cc.in
// compiles each kind once.
template <typename L, typename Prepared, typename Group>
void RunPreparedPass(int rows, const std::byte* panel, const PanelPassRows& pass, const Prefetch& prefetch);

template <typename Format>
static constexpr int64_t BytesOfGroups(int64_t groups) {
  return groups / Format::kGroups * (Format::kHeaderBytes + Format::kGroups * Format::kGroupBytes);
}

// Multiplies all rows of the job by some groups of one panel. Prefetches up to `fetch_end`, and prefetches rows. The last prefetched rows
// are the rows wanted next, `then` bytes from the first row's groups. Inlined, and PanelRows takes references: copying a struct whose
// fields have just been written loads wider than the stores. Such a load waits until all earlier stores, the last panel's sums, are in the
// cache.
template <typename L, typename Format, typename Group>
inline __attribute__((always_inline)) void RowsTimesPanel(const PanelJob& job, const std::byte* panel, PanelPassRows pass,
                                                          Prefetch prefetch, const std::byte* fetch_end, int64_t then) {
  for (int64_t row = 0; row < job.rows;) {
    const int rows = RowsOfPass<ProductsOf<L, Group>>(job.rows - row);
    prefetch.next_rows = row + rows < job.rows ? rows * job.x_stride : then - row * job.x_stride;
    if constexpr (kIsPrepared<Format>) RunPreparedPass<L, Format, Group>(rows, panel, pass, prefetch);
    else RunPass<L, Format, Group, 1>(rows, panel, pass, prefetch);
    pass.x += rows * job.x_stride;
    pass.y += rows * job.y_stride;
    row += rows;
    prefetch.next += prefetch.lines_per_group * kLine * pass.groups;
    if (prefetch.next >= fetch_end) prefetch.lines_per_group = 0;
  }
}

// Multiplies all rows of the job by the job's panels, panel by panel, so that each weight is fetched from memory once.
template <typename L, typename Format, typename Group>
void PanelsTimesGroups(const PanelJob& job) {
  const int64_t groups = job.in_features / Group::kValues, panel_bytes = BytesOfGroups<Format>(groups);
  const int64_t passes = PassesOf<ProductsOf<L, Group>>(job.rows);
  const int lines = static_cast<int>((Format::kGroupBytes / kLine + passes - 1) / passes);
  for (int64_t p = job.panel_begin; p < job.panel_end; ++p) {
    const std::byte* panel = job.panels + p * panel_bytes;
    const PanelPassRows pass = {job.x, job.x_stride, groups, job.y + 32 * p, job.y_stride, job.out_features - 32 * p};
    const std::byte* next = passes == 1 ? panel + kPrefetchAhead : panel + panel_bytes;
    RowsTimesPanel<L, Format, Group>(job, panel, pass, {next, lines, job.rows <= kRowsThatWait, 0}, panel + 2 * panel_bytes, /*then=*/0);
  }
}

constexpr int64_t kRowsToPrepareFor = 24;
// The most groups prepared together: up to 30 KiB. With fewer groups at a time, sums are stored and loaded more often. That costs more
// than the free cache gains.
constexpr int64_t kGroupsPrepared = 20;

// As PanelsTimesGroups, for many rows: prepares some groups of a panel and multiplies all rows by these groups before the next groups.
template <typename L, typename Format, typename Group>
void PreparedPanelsTimesGroups(const PanelJob& job) {
  alignas(64) std::byte prepared[kGroupsPrepared * PreparedOf<Format>::kGroupBytes];
  const int64_t groups = job.in_features / Group::kValues, panel_bytes = BytesOfGroups<Format>(groups);
  const int64_t steps = (groups + kGroupsPrepared - 1) / kGroupsPrepared;
  for (int64_t p = job.panel_begin; p < job.panel_end; ++p) {
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t first = groups * step / steps, count = groups * (step + 1) / steps - first;
      PreparePanel<L, Format>(job.panels + p * panel_bytes, first, count, prepared);
      const PanelPassRows pass = {job.x + first * static_cast<int64_t>(sizeof(Group)), job.x_stride, count, job.y + 32 * p, job.y_stride,
                             job.out_features - 32 * p, first > 0};
      const int64_t next = step + 1 < steps ? first + count : 0;
      // Meanwhile the next step's codes come into the cache: one line with each group that a pass multiplies, while there are passes.
      const std::byte* codes = job.panels + p * panel_bytes + panel_bytes * (first + count) / groups / kLine * kLine;
      RowsTimesPanel<L, PreparedOf<Format>, Group>(job, prepared, pass, {codes, 1, false, 0}, codes + panel_bytes / steps,
                                                   (next - first) * static_cast<int64_t>(sizeof(Group)));
    }
  }
}

template <typename L, typename Format, typename Group>
void PanelsOf(const PanelJob& job) {
  if constexpr (kWorthPreparing<Format>) {
    if (job.rows >= kRowsToPrepareFor) return PreparedPanelsTimesGroups<L, Format, Group>(job);
  }
  PanelsTimesGroups<L, Format, Group>(job);
}

}  // namespace tessera
