// The tails of a tile's paths, where the rows of a tree part: runs of one or two slots, between runs of other branches.
//
// If each query walked alone, each such run would be a chain of multiply-adds as long as the head, without other work to hide latency. Such
// chains take a sixth of the time of six queries over 370 positions. But the runs of all queries are in the same few blocks. So a block is
// scored once, all slots for all queries, and each query takes the lanes of its own slots. Sums of values walk all of a query's runs in one
// pass. The operations of a result, and their order, equal the operations of ScoreRun and ValueRun.
#pragma once

#include <algorithm>
#include <array>

#include "tessera/npu/host/kernels/attention_products.h"

namespace tessera {

// Calls f(slot, count, position) for the runs of adjacent slots that hold positions [begin, end) of a path.
template <typename F>
inline void ForEachRun(SlotPath path, int begin, int end, F f) {
  int position = 0;
  for (const SlotRange& range : path) {
    const int from = std::max(begin, position), to = std::min(end, position + range.count);
    if (from < to) f(range.begin + (from - position), to - from, from);
    position += range.count;
    if (position >= end) return;
  }
}

// A run of slots: `count` slots from `slot` on hold a query's positions from `position` on.
struct TailRun { int query, slot, count, position; };

// The runs behind a given position of each query's path, and the blocks that hold these runs. A template, so that each instruction set has
// its own class.
template <typename L>
class TileTails {
 public:
  // Collects the runs from position `begin` on. Returns false if there are too many runs or blocks; each query should then walk alone, and
  // the collected runs must not be used.
  bool Collect(const AttentionTile& tile, int begin) {
    runs_ = blocks_ = 0;
    bool fits = true;
    for (int q = 0; q < tile.count && fits; ++q) {
      ForEachRun(tile.path[q], begin, tile.end[q], [&](int slot, int count, int position) {
        fits = fits && runs_ < kMostRuns && AddBlocks(slot / KvView::kSlotsPerBlock, (slot + count - 1) / KvView::kSlotsPerBlock);
        if (fits) run_[runs_++] = {q, slot, count, position};
      });
    }
    return fits;
  }
  const TailRun* begin() const { return run_.data(); }
  const TailRun* end() const { return run_.data() + runs_; }
  const int* blocks_begin() const { return block_.data(); }
  const int* blocks_end() const { return block_.data() + blocks_; }

 private:
  static constexpr int kMostRuns = 96, kMostBlocks = 6;

  bool AddBlocks(int first, int last) {
    for (int block = first; block <= last; ++block) {
      bool known = false;
      for (int i = 0; i < blocks_; ++i) known = known || block_[i] == block;
      if (known) continue;
      if (blocks_ == kMostBlocks) return false;
      block_[blocks_++] = block;
    }
    return true;
  }

  int runs_ = 0, blocks_ = 0;
  std::array<TailRun, kMostRuns> run_;
  std::array<int, kMostBlocks> block_;
};

// Scores the tails of kQueries queries. at(q, position): the address of the score of `position`; scores of later positions follow.
template <typename L, int kQueries, typename At>
void ScoreTails(const AttentionTile& tile, const TileTails<L>& tails, At at) {
  constexpr int kBlock = KvView::kSlotsPerBlock;
  for (const int* block = tails.blocks_begin(); block != tails.blocks_end(); ++block) {
    typename L::Float sums[1][kQueries];
    ScoreBlocks<L, kQueries, 1>(tile, 0, *block, sums);
    float lanes[kQueries][kBlock];
    for (int q = 0; q < kQueries; ++q) L::Store(lanes[q], ScaledScores<L>(tile, *block, sums[0][q]));
    for (const TailRun& run : tails) {
      const int from = std::max(run.slot, *block * kBlock), to = std::min(run.slot + run.count, (*block + 1) * kBlock);
      float* out = at(run.query, run.position) - run.slot;
      for (int slot = from; slot < to; ++slot) out[slot] = lanes[run.query][slot - *block * kBlock];
    }
  }
}

// sums[q] += weights times values of the tails of each query. Weights are stored at the scores' addresses (`at`).
template <typename L, typename At>
void SumTails(const AttentionTile& tile, const TileTails<L>& tails, At at, float* const* sums) {
  constexpr int kVectors = 4;
  const int64_t stride = KvView::ValueStride(tile.head_size);
  const auto* values = reinterpret_cast<const typename L::Number*>(tile.values);
  for (const TailRun *first = tails.begin(), *last; first != tails.end(); first = last) {
    for (last = first; last != tails.end() && last->query == first->query;) ++last;
    for (int64_t d = 0; d < stride; d += 16 * kVectors) {
      const int vectors = static_cast<int>(std::min<int64_t>(kVectors, (stride - d) / 16));
      typename L::Float lanes[kVectors];
      for (int v = 0; v < kVectors; ++v) lanes[v] = v < vectors ? L::Load(sums[first->query] + d + 16 * v) : L::Zero();
      for (const TailRun* run = first; run != last; ++run) {
        const float* weights = at(run->query, run->position);
        for (int i = 0; i < run->count; ++i) {
          const auto* row = values + (run->slot + i) * stride + d;
          for (int v = 0; v < vectors; ++v) lanes[v] = L::Fma(L::LoadNumbers(row + 16 * v), L::Set(weights[i]), lanes[v]);
        }
      }
      for (int v = 0; v < vectors; ++v) L::Store(sums[first->query] + d + 16 * v, lanes[v]);
    }
  }
}

}  // namespace tessera
