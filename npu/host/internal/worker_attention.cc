#include <algorithm>

#include "tessera/base/checked_math.h"
#include "tessera/base/half.h"
#include "tessera/npu/flash_attention.h"
#include "tessera/npu/host/internal/tile_cut.h"
#include "tessera/npu/host/internal/worker.h"

namespace tessera {
namespace {

constexpr int kLongEnough = 128;        // Positions from which on keys and values take longer to load than another barrier.
constexpr int64_t kPartsOfWorker = 32;  // A worker that is held up delays the others by a few parts at most (base/shared_work.h).

}  // namespace

// A line of keys has two dimensions of sixteen slots. If workers stored the heads that they computed, few rows would go to the same lines
// from several cores. So few rows are divided by heads, once all workers have finished the rows. Keys take longer than values, so the two
// alternate.
void Worker::Execute(const StoreKeyValue& op) {
  const int rows = run_.arguments.rows, halves = 2 * run_.arguments.kv.heads();
  const bool by_heads = single_ || (rows < workers_ * KvView::kSlotsPerBlock && halves >= workers_);
  if (by_heads && !single_) run_.pool.Barrier();
  const Share stored_rows = by_heads ? Share{0, rows} : mine_, stored = by_heads ? ShareOf(halves, index_, workers_) : Share{0, halves};
  for (int64_t r = stored_rows.begin; r < stored_rows.end; ++r) {
    for (int i = static_cast<int>(stored.begin); i < stored.end; ++i) StoreHead(op, r, i / 2, /*value=*/i % 2 == 1);
  }
  run_.pool.Barrier();
}

void Worker::StoreHead(const StoreKeyValue& op, int64_t row, int head, bool value) {
  const KvView& kv = run_.arguments.kv;
  const int slot = run_.arguments.slots[row];
  const int64_t index = value ? kv.ValueIndex(slot, 0) : kv.KeyIndex(slot, 0);
  std::byte* const numbers = value ? kv.Values<std::byte>(op.layer, head) : kv.Keys<std::byte>(op.layer, head);
  float* scale = nullptr;
  if (kv.format() == KvFormat::kInt8) scale = (value ? kv.ValueScales(op.layer, head) : kv.KeyScales(op.layer, head)) + slot;
  run_.arithmetic.rows.store_head(RowOf(value ? op.value : op.key, row) + head * kv.head_size(), kv.head_size(),
                       {kv.format(), numbers + index * KvView::ElementBytes(kv.format()), value ? 1 : KvView::kSlotsPerBlock, scale});
}

// Attends for the query vectors of all rows, key/value head by key/value head. Queries of one row walk the same positions: more parts than
// workers would only load keys more often. Queries of several rows are cut between tiles, so tiles are whole except a head's last tile. Few
// tiles are also cut in the middle of a tile (tile_cut.h).
void Worker::Execute(const Attention& op) {
  if (SharesHeads(op)) return AttendTogether(op);
  const int64_t heads = run_.arguments.kv.heads(), per_head = run_.arguments.rows * (op.heads / heads);
  const int64_t unit = single_ ? 1 : AttentionTile::kMost, of_head = CeilDiv(per_head, unit), units = of_head * heads;
  if (!single_ && units < workers_ * kPartsOfWorker) {
    AttendFewTiles(op, heads, per_head);
  } else {
    const int64_t parts = single_ ? workers_ : workers_ * kPartsOfWorker;
    const auto first_query = [&](int64_t i) { return i / of_head * per_head + i % of_head * unit; };
    ForEachPart(taken_, index_, workers_, parts, [&](int64_t part) {
      const Share share = ShareOf(units, static_cast<int>(part), static_cast<int>(parts));
      AttendShare(op, first_query(share.begin), first_query(share.end));
    });
  }
  run_.pool.Barrier();
}

// A part is a tile of a worker's share; shares with fewer than the most have some that are empty.
void Worker::AttendFewTiles(const Attention& op, int64_t heads, int64_t per_head) {
  const auto share_of = [&](int64_t worker) { return TileCut::OfWorker(static_cast<int>(worker), workers_, heads, per_head); };
  int64_t most = 0;
  for (int w = 0; w < workers_; ++w) most = std::max(most, share_of(w).tiles());
  ForEachPart(taken_, index_, workers_, workers_ * most, [&](int64_t part) {
    const Share tile = share_of(part / most).Tile(part % most);
    AttendShare(op, tile.begin, tile.end);
  });
}

// A single row whose key/value heads would not fall evenly to workers, each a whole one.
bool Worker::SharesHeads(const Attention& op) const {
  const KvView& kv = run_.arguments.kv;
  if (!single_ || kv.heads() % workers_ == 0 || kv.format() != KvFormat::kHalf || run_.arithmetic.kv_block > 0) return false;
  const AttentionTile tile = TileOf(op, 0, 1);
  return tile.end[0] - tile.begin[0] >= kLongEnough;
}

// Loads each key and value in one worker, for all queries of the head. Scores are cut by positions, sums of values by columns; neither cut
// is within a query's chain of operations.
void Worker::AttendTogether(const Attention& op) {
  const int64_t heads = run_.arguments.kv.heads();
  const AttentionTile any = TileOf(op, 0, 1);
  const int first = any.begin[0] / KvView::kSlotsPerBlock;
  const int64_t blocks = CeilDiv(any.end[0], KvView::kSlotsPerBlock) - first;
  const int64_t stride = ScoreStride(any.end[0] - first * KvView::kSlotsPerBlock);
  ForEachTile(op, ShareOf(heads * blocks, index_, workers_), blocks, [&](const AttentionTile& tile, int64_t query, Share share) {
    run_.arithmetic.rows.score_part(tile, run_.scores + query * stride,
                         std::max(any.begin[0], static_cast<int>(first + share.begin) * KvView::kSlotsPerBlock),
                         std::min(any.end[0], static_cast<int>(first + share.end) * KvView::kSlotsPerBlock));
  });
  run_.pool.Barrier();
  const int64_t columns = KvView::ValueStride(any.head_size) / 16;
  ForEachTile(op, ShareOf(heads * columns, index_, workers_), columns, [&](const AttentionTile& tile, int64_t query, Share share) {
    run_.arithmetic.rows.sum_part(tile, run_.scores + query * stride, static_cast<int>(16 * share.begin), static_cast<int>(16 * share.end));
  });
  run_.pool.Barrier();
}

// Every key/value head has `steps_of_head` steps. Calls f(tile, its first query, steps of the head) for each head among `steps`.
template <typename F>
void Worker::ForEachTile(const Attention& op, Share steps, int64_t steps_of_head, F f) const {
  const int64_t group = op.heads / run_.arguments.kv.heads();
  for (int64_t head = steps.begin / steps_of_head; head * steps_of_head < steps.end; ++head) {
    const int64_t before = head * steps_of_head;
    const Share share = {std::max(steps.begin - before, int64_t{0}), std::min(steps.end - before, steps_of_head)};
    for (int64_t query = head * group; query < (head + 1) * group; query += AttentionTile::kMost) {
      f(TileOf(op, query, std::min<int64_t>(AttentionTile::kMost, (head + 1) * group - query)), query, share);
    }
  }
}

// Query i: head i / (rows x group), row i / group % rows, member i % group of the heads that share the key/value head.
void Worker::AttendShare(const Attention& op, int64_t begin, int64_t end) {
  const int64_t per_head = run_.arguments.rows * (op.heads / run_.arguments.kv.heads());
  for (int64_t i = begin; i < end;) {
    const int64_t count = std::min({static_cast<int64_t>(AttentionTile::kMost), end - i, per_head - i % per_head});
    if (run_.arithmetic.kv_block > 0) {
      run_.arithmetic.rows.attend_halves(TileOf(op, i, count), run_.arithmetic.kv_block, run_.arithmetic.exp);
    } else {
      run_.arithmetic.rows.attend(TileOf(op, i, count));
    }
    i += count;
  }
}

AttentionTile Worker::TileOf(const Attention& op, int64_t first, int64_t count) const {
  const RunArguments& arguments = run_.arguments;
  const int64_t group = op.heads / arguments.kv.heads();
  const int head = static_cast<int>(first / (arguments.rows * group));
  AttentionTile tile;
  tile.count = static_cast<int>(count);
  tile.head_size = arguments.kv.head_size();
  tile.format = arguments.kv.format();
  tile.keys = arguments.kv.Keys<std::byte>(op.layer, head);
  tile.values = arguments.kv.Values<std::byte>(op.layer, head);
  if (tile.format == KvFormat::kInt8) {
    tile.key_scales = arguments.kv.KeyScales(op.layer, head);
    tile.value_scales = arguments.kv.ValueScales(op.layer, head);
  }
  tile.scale = run_.arithmetic.kv_block > 0 ? HalfToFloat(FloatToHalf(ScoreScale(op.scale))) : op.scale;
  tile.scratch = OwnScores();
  for (int q = 0; q < tile.count; ++q) {
    const int64_t i = first + q, row = i / group % arguments.rows;
    const int64_t column = (head * group + i % group) * tile.head_size;
    tile.query[q] = RowOf(op.query, row) + column;
    tile.y[q] = RowOf(op.y, row) + column;
    tile.path[q] = arguments.paths[row];
    tile.end[q] = static_cast<int>(PathLength(tile.path[q]));
    tile.begin[q] = op.window > 0 ? std::max(0, tile.end[q] - op.window) : 0;
  }
  return tile;
}

}  // namespace tessera
