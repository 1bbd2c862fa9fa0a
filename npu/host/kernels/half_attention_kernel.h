// FlashAttention in FP16, for up to six query vectors over one key/value head: Algorithm 1 of the test-time scaling paper as in
// npu/flash_attention.h. The walk is the walk of attention_kernel.h, block of keys by block of keys. A query that attends to no position of
// a block skips the block.
#pragma once

#include <algorithm>
#include <limits>

#include "tessera/npu/flash_attention.h"
#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/quant/exp_table.h"

namespace tessera {

// The state that a query carries from block to block; the query's sums are in y.
struct HalfQuery {
  float largest = -65504;   // m of Algorithm 1: FP16's lowest at first.
  float total = 0;          // l.
};

// Returns 2^x of sixteen differences of FP16 numbers.
template <typename L>
inline typename L::Float PowerOfHalves(typename L::Float x, HmxExp exp) {
  if (exp == HmxExp::kExact) return L::RoundToHalf(ExpLanes<L>(L::Mul(x, L::Set(0.69314718055994530942f))));
  const float* const table = ExpTable::Get().floats();
  uint16_t halves[16];
  float powers[16];
  L::StoreHalf(halves, x);
  for (int i = 0; i < 16; ++i) powers[i] = table[halves[i] & (ExpTable::kEntries - 1)];
  return L::Load(powers);
}

// Lines 3 to 5. Turns the scores of positions [begin, end), stored from begin / 16 * 16 on, into weights P, and updates m and l. Returns
// the factor for earlier sums, 2^(m' - m).
template <typename L>
float WeighHalves(float* scores, int begin, int end, HmxExp exp, HalfQuery& query) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  const int base = begin / 16 * 16, length = end - base, padded = (length + 15) / 16 * 16;
  std::fill(scores, scores + (begin - base), kNothing);
  std::fill(scores + length, scores + padded, kNothing);
  typename L::Float largest = L::Set(query.largest);
  for (int i = 0; i < padded; i += 16) {
    const typename L::Float score = L::RoundToHalf(L::Load(scores + i));
    L::Store(scores + i, score);
    largest = L::Max(score, largest);
  }
  const float new_largest = L::Largest(largest);
  const typename L::Float shift = L::Set(new_largest);
  typename L::Float total = L::Zero();
  for (int i = 0; i < padded; i += 16) {
    const typename L::Float weight = PowerOfHalves<L>(L::Sub(L::Load(scores + i), shift), exp);
    L::Store(scores + i, weight);
    total = L::Add(total, weight);
  }
  float kept[16];
  L::Store(kept, PowerOfHalves<L>(L::Sub(L::Set(query.largest), shift), exp));
  query.largest = new_largest;
  query.total = HalfToFloat(FloatToHalf(__builtin_fmaf(kept[0], query.total, L::Sum(total))));
  return kept[0];
}

// The queries of a tile that attend to positions of one block, with their indices in the tile.
struct BlockOfTile {
  BlockOfTile(const AttentionTile& tile, const float* const* queries, int from, int to) : part(tile) {
    part.count = 0;
    for (int q = 0; q < tile.count; ++q) {
      const int begin = std::max(tile.begin[q], from), end = std::min(tile.end[q], to);
      if (begin >= end) continue;
      part.query[part.count] = queries[q];
      part.path[part.count] = tile.path[q];
      part.begin[part.count] = begin;
      part.end[part.count] = end;
      index[part.count++] = q;
    }
  }
  AttentionTile part;
  int index[AttentionTile::kMost];
};

// Lines 2 to 6 for one block. y: the sums O, in FP16 numbers.
template <typename L>
void AttendBlock(const BlockOfTile& block, HmxExp exp, HalfQuery* queries, float* const* y) {
  const AttentionTile& part = block.part;
  TileWalk<HalfCache<L>> walk(part);
  walk.Score();
  walk.SumValues([&](int i, float* scores) {
    const int q = block.index[i];
    const typename L::Float kept = L::Set(WeighHalves<L>(scores, part.begin[i], part.end[i], exp, queries[q]));
    ForEachStep(part.head_size, [&](int64_t d, int lanes) __attribute__((always_inline)) {
      StoreStep<L>(walk.sums(i) + d, L::Mul(LoadStep<L>(y[q] + d, lanes), kept), lanes);
    });
  });
  for (int i = 0; i < part.count; ++i) {
    ForEachStep(part.head_size, [&](int64_t d, int lanes) __attribute__((always_inline)) {
      StoreStep<L>(y[block.index[i]] + d, L::RoundToHalf(L::Load(walk.sums(i) + d)), lanes);
    });
  }
}

// Computes the last line: O / l, as a product with 1 / l.
template <typename L>
void FinishHalves(const HalfQuery& query, int64_t head_size, float* y) {
  const typename L::Float share = L::Set(query.total == 0 ? 0 : HalfToFloat(FloatToHalf(1 / query.total)));
  ForEachStep(head_size, [&](int64_t d, int lanes) __attribute__((always_inline)) {
    StoreStep<L>(y + d, L::RoundToHalf(L::Mul(LoadStep<L>(y + d, lanes), share)), lanes);
  });
}

template <typename L>
void AttendHalves(const AttentionTile& tile, int kv_block, HmxExp exp) {
  AttentionTile walked = tile;
  const int64_t stride = KvView::ValueStride(tile.head_size);
  walked.scratch = tile.scratch + AttentionTile::kMost * stride;
  const float* rounded[AttentionTile::kMost];
  HalfQuery queries[AttentionTile::kMost];
  int first = tile.begin[0], last = tile.end[0];
  for (int q = 0; q < tile.count; ++q) {
    float* const query = tile.scratch + q * stride;
    ForEachStep(tile.head_size, [&](int64_t d, int lanes) __attribute__((always_inline)) {
      StoreStep<L>(query + d, L::RoundToHalf(LoadStep<L>(tile.query[q] + d, lanes)), lanes);
    });
    rounded[q] = query;
    std::fill_n(tile.y[q], tile.head_size, 0.0f);
    first = std::min(first, tile.begin[q]);
    last = std::max(last, tile.end[q]);
  }
  for (int from = first / kv_block * kv_block; from < last; from += kv_block) {
    const BlockOfTile block(walked, rounded, from, from + kv_block);
    if (block.part.count > 0) AttendBlock<L>(block, exp, queries, tile.y);
  }
  for (int q = 0; q < tile.count; ++q) FinishHalves<L>(queries[q], tile.head_size, tile.y[q]);
}

}  // namespace tessera
