// Divides the attention of a few queries among workers: whole tiles, and half a tile at the end of some shares.
//
//   const TileCut share = TileCut::OfWorker(worker, workers, /*heads=*/3, /*per_head=*/18);    // 9 tiles for 2 workers: 4.5 each
//   for (int64_t i = 0; i < share.tiles(); ++i) Attend(share.Tile(i).begin, share.Tile(i).end);
//
// Queries are counted head by head. With whole tiles only, one of two workers would get five of nine tiles. Half a tile takes little more
// than half of a tile's time. No bit depends on the choice of queries that are walked together.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/base/checked_math.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/host/internal/row_kernels.h"

namespace tessera {

class TileCut {
 public:
  // Returns the worker's share of `heads` heads with `per_head` queries each, cut between half tiles.
  static TileCut OfWorker(int worker, int workers, int64_t heads, int64_t per_head) {
    constexpr int64_t kHalf = AttentionTile::kMost / 2;
    const int64_t of_head = CeilDiv(per_head, kHalf);
    const Share halves = ShareOf(heads * of_head, worker, workers);
    const auto first_query = [&](int64_t half) { return half / of_head * per_head + half % of_head * kHalf; };
    return TileCut(first_query(halves.begin), first_query(halves.end), per_head);
  }

  int64_t tiles() const {
    const int64_t later = end_ - first_head_end_;
    return InFirst() + later / per_head_ * InHead() + TilesOf(later % per_head_);
  }

  // Returns queries [begin, end), all of one head; an empty share behind the last tile.
  Share Tile(int64_t i) const {
    const int64_t later = i - InFirst();  // Counted from the first head that does not begin in the middle.
    const int64_t head_begin = later < 0 ? begin_ : first_head_end_ + later / InHead() * per_head_;
    const int64_t head_end = later < 0 ? first_head_end_ : std::min(end_, head_begin + per_head_);
    const int64_t begin = head_begin + (later < 0 ? i : later % InHead()) * AttentionTile::kMost;
    return {begin, std::max(begin, std::min(begin + AttentionTile::kMost, head_end))};
  }

 private:
  TileCut(int64_t begin, int64_t end, int64_t per_head)
      : begin_(begin), end_(end), per_head_(per_head), first_head_end_(std::min(end, (begin / per_head + 1) * per_head)) {}

  static int64_t TilesOf(int64_t queries) { return CeilDiv(queries, AttentionTile::kMost); }
  int64_t InFirst() const { return TilesOf(first_head_end_ - begin_); }
  int64_t InHead() const { return TilesOf(per_head_); }

  int64_t begin_, end_, per_head_, first_head_end_;
};

}  // namespace tessera
