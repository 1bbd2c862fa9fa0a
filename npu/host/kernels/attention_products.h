// The two products of attention, for up to six queries with the same keys and values (attention_kernel.h). ScoreRun multiplies queries by
// keys; ValueRun multiplies weights by values. Each result is one chain of multiply-adds, independent of the other queries in the walk.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tessera/npu/host/internal/row_kernels.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

// The lanes L plus the parts that differ between the formats of a cache.
template <typename L>
struct HalfCache : L {
  using Number = uint16_t;
  static constexpr KvFormat kFormat = KvFormat::kHalf;
  static inline __attribute__((always_inline)) typename L::Float LoadNumbers(const uint16_t* p) { return L::LoadHalf(p); }
};
template <typename L>
struct ByteCache : L {
  using Number = int8_t;
  static constexpr KvFormat kFormat = KvFormat::kInt8;
  static inline __attribute__((always_inline)) typename L::Float LoadNumbers(const int8_t* p) { return L::LoadSigned8(p); }
};

// Turns a block's sums of keys into scores.
template <typename L>
inline __attribute__((always_inline)) typename L::Float ScaledScores(const AttentionTile& tile, int block, typename L::Float sums) {
  if constexpr (L::kFormat == KvFormat::kInt8) sums = L::Mul(L::Load(tile.key_scales + block * KvView::kSlotsPerBlock), sums);
  return L::Mul(L::Set(tile.scale), sums);
}

// sums[v][q] += load(v) * number i of queries q. If the registers hold many sums, each number is loaded once for all vectors. A memory
// operand in every multiply-add would be more than two loads per cycle. Otherwise there is room for one vector at a time.
template <typename L, typename Load, int kQueries, int kVectors>
inline __attribute__((always_inline)) void AddProducts(Load load, const float* const* numbers, int64_t i,
                                                       typename L::Float (&sums)[kVectors][kQueries]) {
  if constexpr (L::kSums >= 24) {
    typename L::Float vectors[kVectors];
    for (int v = 0; v < kVectors; ++v) vectors[v] = load(v);
#pragma GCC unroll 6
    for (int q = 0; q < kQueries; ++q) {
      const typename L::Float number = L::Set(numbers[q][i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[v][q] = L::Fma(vectors[v], number, sums[v][q]);
    }
  } else {
#pragma GCC unroll 4  // Without unrolling, GCC keeps the sums of one query in memory.
    for (int v = 0; v < kVectors; ++v) {
      const typename L::Float vector = load(v);
      // Makes the compiler treat `i` as a changed index. Otherwise GCC would keep the loaded numbers for the next vector. With three
      // queries these numbers need more registers than exist; loading again is cheaper than the stack.
      if constexpr (kQueries > 2) asm volatile("" : "+r"(i));
      for (int q = 0; q < kQueries; ++q) sums[v][q] = L::Fma(vector, L::Set(numbers[q][i]), sums[v][q]);
    }
  }
}

// Fetches the bytes that one step of a walk reads: whole lines, in address order, because memory is fastest in this order.
constexpr int kBytesAhead = 4096;
template <int kBytes>
inline __attribute__((always_inline)) void PrefetchStep(const std::byte* next) {
  static_assert(kBytes <= 128);
  __builtin_prefetch(next, 0, 3);
  if constexpr (kBytes > 64) __builtin_prefetch(next + 64, 0, 3);
}

// Computes the scores of all slots of kBlocks blocks from `block` for kQueries queries: sums[b][q].
template <typename L, int kQueries, int kBlocks>
inline __attribute__((always_inline)) void ScoreBlocks(const AttentionTile& tile, int first_query, int block,
                                                       typename L::Float (&sums)[kBlocks][kQueries]) {
  const int64_t block_keys = static_cast<int64_t>(tile.head_size) * KvView::kSlotsPerBlock;
  const auto* keys = reinterpret_cast<const typename L::Number*>(tile.keys) + block * block_keys;
  for (auto& of_block : sums) {
    for (auto& sum : of_block) sum = L::Zero();
  }
  constexpr int kStep = kBlocks * KvView::kSlotsPerBlock * sizeof(*keys);
  const auto* ahead = reinterpret_cast<const std::byte*>(keys) + kBytesAhead;
  for (int64_t d = 0; d < tile.head_size; ++d, keys += KvView::kSlotsPerBlock, ahead += kStep) {
    PrefetchStep<kStep>(ahead);
    const auto load = [&](int b) __attribute__((always_inline)) { return L::LoadNumbers(keys + b * block_keys); };
    AddProducts<L>(load, tile.query + first_query, d, sums);
  }
}

// Number of blocks scored together: as many as the registers hold sums for, or as many as hide the latency of a chain.
template <typename L, int kQueries>
constexpr int kBlocksTogether = std::bit_floor(static_cast<unsigned>(std::clamp(L::kSums / kQueries, 1, 4)));

// Computes the scores of `count` slots from `slot` for kQueries queries; out[q] receives the scores in slot order.
template <typename L, int kQueries>
void ScoreRun(const AttentionTile& tile, int first_query, int slot, int count, float* const* out) {
  constexpr int kBlock = KvView::kSlotsPerBlock, kTogether = kBlocksTogether<L, kQueries>;
  int block = slot / kBlock;
  const int end = slot + count, whole_end = end / kBlock;
  if (slot % kBlock == 0) {
    for (; block + kTogether <= whole_end; block += kTogether) {
      typename L::Float sums[kTogether][kQueries];
      ScoreBlocks<L, kQueries, kTogether>(tile, first_query, block, sums);
      for (int b = 0; b < kTogether; ++b) {
        for (int q = 0; q < kQueries; ++q) L::Store(out[q] + (block + b) * kBlock - slot, ScaledScores<L>(tile, block + b, sums[b][q]));
      }
    }
  }
  for (; block * kBlock < end; ++block) {
    typename L::Float sums[1][kQueries];
    ScoreBlocks<L, kQueries, 1>(tile, first_query, block, sums);
    const int from = std::max(slot - block * kBlock, 0), to = std::min(end - block * kBlock, kBlock);
    for (int q = 0; q < kQueries; ++q) {
      float lanes[kBlock];
      L::Store(lanes, ScaledScores<L>(tile, block, sums[0][q]));
      std::copy(lanes + from, lanes + to, out[q] + (block * kBlock + from - slot));
    }
  }
}

// Number of dimension vectors whose sums stay in registers while positions are walked.
template <typename L, int kQueries>
constexpr int kVectorsOfValues = std::bit_floor(static_cast<unsigned>(std::clamp(L::kSums / kQueries, 1, 4)));

// The bytes of columns [begin, end), row after row, in steps for PrefetchStep.
struct RowsAhead {
  const std::byte* next;
  const std::byte* row_end;
  int64_t stride, width;

  template <int kBytes>
  inline __attribute__((always_inline)) void Prefetch() {
    PrefetchStep<kBytes>(next);
    next += kBytes;
    if (next < row_end) return;
    next += stride - width;
    row_end += stride;
  }
};

// sums[q][d] += weight[q][i] * value[slot + i][d] for i ascending, over kVectors vectors of dimensions from `d`.
template <typename L, int kQueries, int kVectors>
inline void ValueColumns(const typename L::Number* values, int64_t stride, int count, const float* const* weights, float* const* sums,
                         int64_t d, RowsAhead& ahead) {
  typename L::Float lanes[kVectors][kQueries];
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) lanes[v][q] = L::Load(sums[q] + d + 16 * v);
  }
  for (int i = 0; i < count; ++i) {
    const auto* row = values + int64_t{i} * stride + d;
    ahead.template Prefetch<16 * kVectors * sizeof(*row)>();
    AddProducts<L>([&](int v) __attribute__((always_inline)) { return L::LoadNumbers(row + 16 * v); }, weights, i, lanes);
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) L::Store(sums[q] + d + 16 * v, lanes[v][q]);
  }
}

// Adds weights times values of `count` slots from `slot`, over columns [begin, end), multiples of 16.
template <typename L, int kQueries>
void ValueRun(const AttentionTile& tile, int slot, int count, const float* const* weights, float* const* sums, int64_t begin, int64_t end) {
  const int64_t stride = KvView::ValueStride(tile.head_size);
  constexpr int kVectors = kVectorsOfValues<L, kQueries>, kBytes = sizeof(typename L::Number), kAtOnce = kQueries > 2 ? 128 : 32;
  const float* some[kQueries];
  for (int first = 0; first < count; first += kAtOnce) {
    const auto* values = reinterpret_cast<const typename L::Number*>(tile.values) + (slot + first) * stride;
    const int positions = std::min(count - first, kAtOnce);
    for (int q = 0; q < kQueries; ++q) some[q] = weights[q] + first;
    const auto* next = reinterpret_cast<const std::byte*>(values + (first + kAtOnce < count ? kAtOnce * stride : 0) + begin);
    RowsAhead ahead = {next, next + (end - begin) * kBytes, stride * kBytes, (end - begin) * kBytes};
    int64_t d = begin;
    for (; d + 16 * kVectors <= end; d += 16 * kVectors) {
      ValueColumns<L, kQueries, kVectors>(values, stride, positions, some, sums, d, ahead);
    }
    for (; d < end; d += 16) ValueColumns<L, kQueries, 1>(values, stride, positions, some, sums, d, ahead);
  }
}

}  // namespace tessera
