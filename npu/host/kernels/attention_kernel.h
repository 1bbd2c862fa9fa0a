// Attention of up to six query vectors over one key/value head, in FP32 over a cache of FP16 or of 8-bit codes.
//
// Numeric contract (docs/numerics.md), for each query alone:
//   score(p) = scale * sum over dimensions, ascending, one FMA chain         its lane and block do not matter
//   largest  = max over positions                                            order-free
//   weight(p) = exp(score(p) - largest); total = 16 partial sums by p mod 16, then Sum's tree
//   y[d]     = (sum over positions, ascending, one FMA chain) * (1 / total)
// Over 8-bit codes: codes are codes of rotated heads, so queries are rotated, too. score(p) = scale * (key scale of p * the sum over
// codes). y's chain multiplies codes by weight(p) * value scale of p, with each product rounded once. The result of the chain is rotated
// back.
//
// A query's chain covers exactly the query's own positions. Positions shared by the tile are walked together, the rest row by row. Each
// score is a separate lane, so a walk may compute more scores than a query has positions. Short runs are computed as whole blocks, past the
// query's end. Nothing reads the extra scores. So neither slots, nor the tile, nor a neighbour's values can change a query's bits.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tessera/base/fetch.h"
#include "tessera/npu/host/kernels/attention_products.h"
#include "tessera/npu/host/kernels/attention_tails.h"
#include "tessera/npu/host/kernels/row_kernel.h"

namespace tessera {

// Multiplies the weights of `count` slots by the scales of the slots' values, in the 8-bit format.
template <typename L>
inline void ScaleWeights(const AttentionTile& tile, int slot, int count, float* weights) {
  if constexpr (L::kFormat == KvFormat::kInt8) {
    for (int i = 0; i < count; ++i) weights[i] *= tile.value_scales[slot + i];
  }
}

// Returns the length of the longest common prefix of two paths, in positions.
static inline int CommonPositions(SlotPath a, SlotPath b) {
  int positions = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].begin != b[i].begin) break;
    positions += std::min(a[i].count, b[i].count);
    if (a[i].count != b[i].count) break;
  }
  return positions;
}

// Turns the scores of positions [begin, end), stored from position begin / 16 * 16 on, into weights; returns their total.
template <typename L>
float SoftmaxRow(float* scores, int begin, int end) {
  const int base = begin / 16 * 16, length = end - base, padded = (length + 15) / 16 * 16;
  std::fill(scores, scores + (begin - base), -std::numeric_limits<float>::infinity());
  std::fill(scores + length, scores + padded, -std::numeric_limits<float>::infinity());
  typename L::Float largest = L::Load(scores);
  for (int i = 16; i < padded; i += 16) largest = L::Max(L::Load(scores + i), largest);
  const typename L::Float shift = L::Set(L::Largest(largest));
  typename L::Float total = L::Zero();
  for (int i = 0; i < padded; i += 16) {
    const typename L::Float weight = ExpLanes<L>(L::Sub(L::Load(scores + i), shift));
    L::Store(scores + i, weight);
    total = L::Add(total, weight);
  }
  return L::Sum(total);
}

// The walk of one tile: places of each query's scores and sums, and the positions that all queries share.
template <typename L>
class TileWalk {
 public:
  explicit TileWalk(const AttentionTile& tile) : tile_(tile) {
    int first = tile.begin[0];
    shared_begin_ = first;
    shared_end_ = tile.end[0];
    for (int q = 0; q < tile.count; ++q) {
      first = std::min(first, tile.begin[q]);
      if (tile.end[q] > tile.end[longest_]) longest_ = q;
      shared_begin_ = std::max(shared_begin_, tile.begin[q]);
      shared_end_ = std::min({shared_end_, tile.end[q], CommonPositions(tile.path[0], tile.path[q])});
    }
    if (shared_begin_ >= shared_end_) shared_begin_ = shared_end_ = 0;  // No shared position: each query walks alone.
    scored_end_ = Shares() && LongestContinuesEach() ? tile.end[longest_] : shared_end_;
    score_stride_ = ScoreStride(tile.end[longest_] - first / 16 * 16);
    for (int q = 0; q < tile.count; ++q) {
      scores_[q] = tile.scratch + q * score_stride_;
      sums_[q] = tile.scratch + AttentionTile::kMost * score_stride_ + q * Columns();
      std::fill(sums_[q], sums_[q] + Columns(), 0.0f);
    }
  }

  // A whole tile is Score, then SumValues, then Finish.
  void Score() {
    FindTails();
    ForEachRow([this](int q, int count) {
      ScoreAlone(q, count, tile_.begin[q], OwnHeadEnd(q));
      if (!has_tails_) ScoreAlone(q, count, Shares() ? scored_end_ : tile_.end[q], tile_.end[q]);
    });
    ScoreShared(shared_begin_, scored_end_);
    if (has_tails_) Dispatch([&](auto queries) { ScoreTails<L, queries.value>(tile_, tails_, AtOf()); });
  }

  void SumValues() {
    SumValues([this](int q, float* scores) { totals_[q] = SoftmaxRow<L>(scores, tile_.begin[q], tile_.end[q]); });
  }
  // weigh(q, scores): turns the scores of query q, stored from position begin / 16 * 16 on, into weights.
  template <typename Weigh>
  void SumValues(Weigh weigh) {
    for (int q = 0; q < tile_.count; ++q) weigh(q, scores_[q]);
    ForEachRow([this](int q, int count) { SumAlone(q, count, tile_.begin[q], OwnHeadEnd(q)); });
    SumShared(0, Columns());
    if (has_tails_) return SumOfTails();
    ForEachRow([this](int q, int count) { SumAlone(q, count, Shares() ? shared_end_ : tile_.end[q], tile_.end[q]); });
  }

  // The sums of query q: KvView::ValueStride numbers. Initial values (zeros unless written before SumValues), then the results of
  // SumValues.
  float* sums(int q) { return sums_[q]; }

  void Finish() {
    if constexpr (L::kFormat == KvFormat::kInt8) {
      for (int q = 0; q < tile_.count; ++q) Rotate<L>(sums_[q], tile_.head_size);
    }
    FinishColumns(0, tile_.head_size);
  }

  // The parts of a tile whose queries attend to the same positions. `scores`: scores of the tile's queries, ScoreStride(longest) apart.
  void ScorePart(float* scores, int begin, int end) {
    for (int q = 0; q < tile_.count; ++q) scores_[q] = scores + q * score_stride_;
    ScoreShared(begin, end);
  }
  void SumPart(const float* scores, int begin, int end) {
    std::copy_n(scores, tile_.count * score_stride_, scores_[0]);
    for (int q = 0; q < tile_.count; ++q) totals_[q] = SoftmaxRow<L>(scores_[q], tile_.begin[q], tile_.end[q]);
    SumShared(begin, end);
    FinishColumns(begin, std::min(end, tile_.head_size));
  }

 private:
  template <int n>
  using Count = std::integral_constant<int, n>;
  // Calls f with a number of queries as a constant: the tile's number, or the given one.
  template <typename F>
  void Dispatch(F f) {
    Dispatch(tile_.count, f);
  }
  template <typename F>
  static void Dispatch(int queries, F f) {
    switch (queries) {
      case 1: return f(Count<1>());
      case 2: return f(Count<2>());
      case 3: return f(Count<3>());
      case 4: return f(Count<4>());
      case 5: return f(Count<5>());
      default: return f(Count<6>());
    }
  }
  // Returns true if each query's path is a prefix of the longest path, as with the rows of a prompt.
  bool LongestContinuesEach() const {
    for (int q = 0; q < tile_.count; ++q) {
      if (CommonPositions(tile_.path[longest_], tile_.path[q]) < tile_.end[q]) return false;
    }
    return true;
  }
  // Finds tails: queries have tails where paths part, from the position behind which the longest path has only short runs.
  void FindTails() {
    if (!Shares()) return;
    int begin = TailBegin();
    if (begin == tile_.end[longest_] && scored_end_ == begin) return;  // One long run that continues each query's.
    begin = std::min(begin, shared_end_);
    has_tails_ = tails_.Collect(tile_, begin);
    if (has_tails_) shared_end_ = scored_end_ = begin;
  }
  // Returns the begin of the short runs at the end of the longest path. The longest path may go on behind the last position that is walked.
  int TailBegin() const {
    const SlotPath path = tile_.path[longest_];
    int begin = static_cast<int>(PathLength(path));
    size_t i = path.size();
    while (i > 1 && begin - path[i - 1].count >= tile_.end[longest_]) begin -= path[--i].count;
    int tail = tile_.end[longest_];
    while (i > 1 && path[i - 1].count < KvView::kSlotsPerBlock && begin - path[i - 1].count > shared_begin_) {
      begin -= path[--i].count;
      tail = begin;
    }
    return tail;
  }
  void SumOfTails() {
    for (const TailRun& run : tails_) ScaleWeights<L>(tile_, run.slot, run.count, At(run.query, run.position));
    SumTails<L>(tile_, tails_, AtOf(), sums_);
  }
  auto AtOf() const { return [this](int q, int position) { return At(q, position); }; }
  int64_t Columns() const { return KvView::ValueStride(tile_.head_size); }
  bool Shares() const { return shared_begin_ < shared_end_; }
  int OwnHeadEnd(int q) const { return Shares() ? shared_begin_ : tile_.end[q]; }
  float* At(int q, int position) const { return scores_[q] + (position - tile_.begin[q] / 16 * 16); }

  // Scores all queries up to `end`. Behind a query's own end the lanes would otherwise be idle; nothing reads the scores there.
  void ScoreShared(int begin, int end) {
    ForEachRun(tile_.path[longest_], begin, end, [&](int slot, int count, int position) {
      float* out[AttentionTile::kMost];
      for (int q = 0; q < tile_.count; ++q) out[q] = At(q, position);
      Dispatch([&](auto queries) { ScoreRun<L, queries.value>(tile_, 0, slot, count, out); });
    });
  }
  void SumShared(int64_t begin, int64_t end) {
    ForEachRun(tile_.path[0], shared_begin_, shared_end_, [&](int slot, int count, int position) {
      float* weights[AttentionTile::kMost];
      for (int q = 0; q < tile_.count; ++q) {
        weights[q] = At(q, position);
        ScaleWeights<L>(tile_, slot, count, weights[q]);
      }
      Dispatch([&](auto queries) { ValueRun<L, queries.value>(tile_, slot, count, weights, sums_, begin, end); });
    });
  }
  void FinishColumns(int64_t begin, int64_t end) {
    for (int q = 0; q < tile_.count; ++q) {
      const typename L::Float inverse = L::Set(1.0f / totals_[q]);
      ForEachStep(end - begin, [&](int64_t i, int lanes) __attribute__((always_inline)) {
        StoreStep<L>(tile_.y[q] + begin + i, L::Mul(L::Load(sums_[q] + begin + i), inverse), lanes);
      });
    }
  }

  // Calls f(first, count) for the queries of each row: heads that see the same positions.
  template <typename F>
  void ForEachRow(F f) const {
    for (int first = 0, end = 0; first < tile_.count; first = end) {
      const auto is_of_row = [&](int q) {
        return tile_.path[q].data() == tile_.path[first].data() && tile_.begin[q] == tile_.begin[first] && tile_.end[q] == tile_.end[first];
      };
      for (end = first + 1; end < tile_.count && is_of_row(end);) ++end;
      f(first, end - first);
    }
  }
  void ScoreAlone(int first, int queries, int begin, int end) {
    if (begin >= end) return;
    ForEachRun(tile_.path[first], begin, end, [&](int slot, int count, int position) {
      float* out[AttentionTile::kMost];
      for (int q = 0; q < queries; ++q) out[q] = At(first + q, position);
      Dispatch(queries, [&](auto constant) { ScoreRun<L, constant.value>(tile_, first, slot, count, out); });
    });
  }
  void SumAlone(int first, int queries, int begin, int end) {
    if (begin >= end) return;
    ForEachRun(tile_.path[first], begin, end, [&](int slot, int count, int position) {
      float* weights[AttentionTile::kMost];
      for (int q = 0; q < queries; ++q) {
        weights[q] = At(first + q, position);
        ScaleWeights<L>(tile_, slot, count, weights[q]);
      }
      Dispatch(queries, [&](auto constant) { ValueRun<L, constant.value>(tile_, slot, count, weights, sums_ + first, 0, Columns()); });
    });
  }

  const AttentionTile& tile_;
  int shared_begin_;
  int shared_end_;
  int scored_end_;    // End of the positions scored together: behind shared_end_ where the longest path continues each path.
  bool has_tails_ = false;  // If true, shared positions end where tails begin.
  TileTails<L> tails_;
  int longest_ = 0;   // The query with the most positions.
  int64_t score_stride_;
  float* scores_[AttentionTile::kMost] = {};
  float* sums_[AttentionTile::kMost];
  float totals_[AttentionTile::kMost];
};

template <typename L>
void WalkTile(const AttentionTile& tile) {
  // Other cores read these lines last. The next part of the work is taken when the lines are written.
  for (int q = 0; q < tile.count; ++q) {
    for (int d = 0; d < tile.head_size; d += 16) FetchToWrite(tile.y[q] + d);
  }
  TileWalk<L> walk(tile);
  walk.Score();
  walk.SumValues();
  walk.Finish();
}

template <typename L>
void AttendTile(const AttentionTile& tile) {
  if (tile.format != KvFormat::kInt8) return WalkTile<HalfCache<L>>(tile);
  AttentionTile rotated = tile;
  float queries[AttentionTile::kMost][KvView::kLargestByteHead];
  for (int q = 0; q < tile.count; ++q) {
    std::copy_n(tile.query[q], tile.head_size, queries[q]);
    Rotate<L>(queries[q], tile.head_size);
    rotated.query[q] = queries[q];
  }
  WalkTile<ByteCache<L>>(rotated);
}

template <typename L>
void ScorePart(const AttentionTile& tile, float* scores, int begin, int end) {
  TileWalk<HalfCache<L>>(tile).ScorePart(scores, begin, end);
}

template <typename L>
void SumPart(const AttentionTile& tile, const float* scores, int begin, int end) {
  TileWalk<HalfCache<L>>(tile).SumPart(scores, begin, end);
}

}  // namespace tessera
