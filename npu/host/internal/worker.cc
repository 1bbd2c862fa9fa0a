#include "tessera/npu/host/internal/worker.h"

#include <algorithm>

#include "tessera/base/checked_math.h"
#include "tessera/base/fetch.h"
#include "tessera/npu/host/internal/tile_cut.h"
#include "tessera/quant/internal/panels/panel_format.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {
namespace {

constexpr int kLongEnough = 128;       // Positions from which on keys and values take longer to load than workers to meet once more.
// Parts of a worker's share of an operator: one that is held up keeps the others waiting for a few parts at most (shared_work.h).
constexpr int64_t kPartsOfFewRows = 8;
constexpr int64_t kPartsOfManyRows = 32;
constexpr int64_t kManyRows = 32;             // Of each worker: as many as make up for each walking all weights.
// Rounded rows that a worker takes together, or up to twice as many, and weights: both stay in a second-level cache.
constexpr int64_t kFewestTogether = 40, kMostTogether = 80;
constexpr int64_t kMostToFetch = 48 << 10;    // Bytes of rows at once: a first-level cache. Gates and ups of four rows of SmolLM2.
constexpr int64_t kBytesOfRows = 256 << 10, kBytesOfCut = 128 << 10;

}  // namespace

int64_t WorkerScratchBytes(const HostGraph& graph, int longest_path) {
  const int64_t scores = AttentionScratch(longest_path, graph.widest_head) * static_cast<int64_t>(sizeof(float));
  return AlignUp(graph.private_bytes, 64) + QuantizedRows::BytesFor(1, graph.widest_input) + AlignUp(scores, 64);
}

int64_t SharedScores(const HostGraph& graph, int longest_path) { return graph.most_heads * ScoreStride(longest_path); }

Worker::Worker(const HostRun& run, int index)
    : run_(run), index_(index), workers_(run.pool.threads()), single_(run.arguments.rows == 1),
      mine_(single_ ? Share{0, 1} : ShareOf(run.arguments.rows, index, workers_)), scratch_(run.scratch + index * run.scratch_bytes) {}

std::byte* Worker::OwnRounded() const { return scratch_ + AlignUp(run_.graph.private_bytes, 64); }

float* Worker::OwnScores() const {
  return reinterpret_cast<float*>(OwnRounded() + QuantizedRows::BytesFor(1, run_.graph.widest_input));
}

// Of several rows each goes through all operators that see no other row, and the rounding behind them, before the next one does: what
// these pass on stays in a first-level cache, and if nobody else reads it, it always lies at the same place (HostGraph::passing).
void Worker::Run() {
  const std::vector<Operator>& operators = run_.graph.compiled.graph.operators;
  for (size_t i = 0; i < operators.size(); ++i) {
    const size_t end = run_.graph.chain_end[i];
    if (end > i) FetchRows(i);
    const Linear* const product = end < operators.size() ? std::get_if<Linear>(&operators[end]) : nullptr;
    if (product != nullptr && !single_) FetchRounded(*product);
    for (int64_t r = mine_.begin; r < mine_.end; ++r) {
      for (size_t k = i; k < end; ++k) {
        std::visit([&](const auto& op) { if constexpr (requires { ExecuteRow(op, r); }) ExecuteRow(op, r); }, operators[k]);
      }
      if (product != nullptr) RoundRow(*product, r);
    }
    i = end;
    if (i == operators.size()) return;
    taken_ = run_.taken + i * workers_;
    if (!single_ && run_.graph.meet_before[i]) run_.pool.Barrier();
    std::visit([&](const auto& op) { if constexpr (!requires { ExecuteRow(op, i); }) Execute(op); }, operators[i]);
  }
}

// What others wrote of this worker's rows, before the first line is needed: many come from another core's cache in the time of one.
void Worker::FetchRows(size_t chain) const {
  int64_t bytes = 0;
  for (const BufferId buffer : run_.graph.chain_reads[chain]) bytes += Columns(buffer) * static_cast<int64_t>(sizeof(float));
  if ((mine_.end - mine_.begin) * bytes > kMostToFetch) return;
  for (const BufferId buffer : run_.graph.chain_reads[chain]) {
    for (int64_t r = mine_.begin; r < mine_.end; ++r) FetchLines(RowOf(buffer, r), Columns(buffer) * static_cast<int64_t>(sizeof(float)));
  }
}

// Where this worker's rows will be rounded to: others have read the last ones there.
void Worker::FetchRounded(const Linear& op) const {
  if ((mine_.end - mine_.begin) * QuantizedRows::BytesFor(1, Columns(op.x)) > kMostToFetch) return;
  const QuantizedRows rows = RoundedRows(op);
  const int64_t groups = QuantizedRows::Groups(Columns(op.x));
  const auto [coarse, fine] = RoundingOf(op);
  for (int64_t r = mine_.begin; r < mine_.end; ++r) {
    if (coarse) FetchToWrite(rows.Row(r), groups * static_cast<int64_t>(sizeof(ActivationGroup)));
    if (fine) FetchToWrite(rows.FineRow(r), groups * static_cast<int64_t>(sizeof(FineActivationGroup)));
  }
}

float* Worker::RowOf(BufferId buffer, int64_t r) const {
  const HostGraph& graph = run_.graph;
  const int external = graph.external[buffer];
  const bool own = single_ ? graph.row_written[buffer] && (external < 0 || index_ > 0)  // Worker 0 writes the caller's copy.
                           : graph.passing[buffer] && run_.arguments.adapters.empty();
  if (own) return reinterpret_cast<float*>(OwnRow() + graph.private_offsets[buffer]);
  if (external >= 0) return run_.arguments.buffers[external].data + r * run_.arguments.buffers[external].row_stride;
  return reinterpret_cast<float*>(run_.arena + graph.compiled.offsets[buffer]) + r * RowStride(Columns(buffer));
}

int64_t Worker::StrideOf(BufferId buffer) const {
  const int external = run_.graph.external[buffer];
  return external >= 0 ? run_.arguments.buffers[external].row_stride : RowStride(Columns(buffer));
}

void Worker::ExecuteRow(const RmsNorm& op, int64_t r) {
  const int64_t part = Columns(op.x) / op.groups;
  const float* x = RowOf(op.x, r);
  float* y = RowOf(op.y, r);
  for (int g = 0; g < op.groups; ++g) run_.rows.rms_norm(x + g * part, Vector(op.weight), part, op.epsilon, y + g * part);
}

void Worker::ExecuteRow(const AddBias& op, int64_t r) {
  run_.rows.add(RowOf(op.x, r), Vector(op.weight), Columns(op.x), RowOf(op.y, r));
}

void Worker::ExecuteRow(const Add& op, int64_t r) { run_.rows.add(RowOf(op.a, r), RowOf(op.b, r), Columns(op.a), RowOf(op.y, r)); }

void Worker::ExecuteRow(const GatedActivation& op, int64_t r) {
  run_.rows.gated(RowOf(op.gate, r), RowOf(op.up, r), Columns(op.gate), op.activation, RowOf(op.y, r));
}

void Worker::ExecuteRow(const Rope& op, int64_t r) {
  const RopeShape shape = {op.heads, static_cast<int>(Columns(op.x) / op.heads), op.dimensions, op.pairs};
  run_.rows.rope(RowOf(op.x, r), run_.arguments.rope_tables[op.table] + r * op.dimensions, shape, RowOf(op.y, r));
}

void Worker::Execute(const Embedding& op) {
  const GraphWeight& weight = run_.graph.compiled.graph.weights[op.table];
  const absl::StatusOr<PackedMatrix> table = PackedMatrix::Open(weight.spec, run_.arguments.weights[op.table]);
  const Share rows = ShareOf(run_.arguments.rows, index_, workers_);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const int64_t entry = run_.arguments.tokens[r] - op.first_token;
    if (entry < 0 || entry >= table->out_features()) continue;
    float* y = RowOf(op.y, r);
    table->ReadRow(entry, y);
    for (int64_t i = 0; i < Columns(op.y); ++i) y[i] *= op.scale;
  }
  if (single_) run_.pool.Barrier();  // The others read what one of them wrote.
}

QuantizedRows Worker::RoundedRows(const Linear& op) const { return {single_ ? OwnRounded() : run_.rounded, Columns(op.x)}; }

Worker::Rounding Worker::RoundingOf(const Linear& op) const {
  Rounding rounding = {false, false};
  for (const Product& product : op.products) {
    if (!run_.graph.weights[product.weight].float_activations) (product.fine ? rounding.fine : rounding.coarse) = true;
  }
  return rounding;
}

// Rounds a row of x as the products want it: to 8 bits, to 16, both or not at all. A single row is rounded by every worker for
// itself; several are shared out, and workers have to meet before they read each other's.
void Worker::RoundRow(const Linear& op, int64_t r) {
  const auto [coarse, fine] = RoundingOf(op);
  const QuantizedRows rows = RoundedRows(op);
  if (coarse) run_.matmul.quantize_row(RowOf(op.x, r), Columns(op.x), rows.Row(r));
  if (fine) run_.matmul.quantize_row_fine(RowOf(op.x, r), Columns(op.x), rows.FineRow(r));
}

void Worker::Execute(const Linear& op) {
  const QuantizedRows rounded = RoundedRows(op);
  if (single_) {
    MultiplyShare(op, rounded, [] {});
  } else {
    const uint64_t arrival = run_.pool.Arrive();
    MultiplyShare(op, rounded, [&] { run_.pool.AwaitOthers(arrival); });
  }
  run_.pool.Barrier();
}

// The panels of all products in a row, cut into parts of equal bytes, times blocks of rows. A worker that has rows of its own begins
// with those, so one that took longer for what came before keeps nobody waiting.
void Worker::MultiplyShare(const Linear& op, const QuantizedRows& rounded, absl::FunctionRef<void()> await_rows) {
  int64_t bytes = 0, panels = 0;
  for (const Product& product : op.products) {
    const WeightShape& weight = run_.graph.weights[product.weight];
    bytes += weight.panels * weight.panel_bytes;
    panels += weight.panels;
  }
  const PartGrid grid = GridOf(op, bytes, panels);
  const auto multiply = [&](int64_t part) {
    const int64_t blocks = grid.blocks, owner = part / (blocks * grid.cuts), cut = part / blocks % grid.cuts;
    const Share owned = ShareOf(run_.arguments.rows, owner, grid.owners);
    const Share block = ShareOf(owned.end - owned.begin, part % blocks, blocks);
    MultiplyBytes(op, rounded, bytes / grid.cuts * cut, cut + 1 == grid.cuts ? bytes : bytes / grid.cuts * (cut + 1),
                  {owned.begin + block.begin, owned.begin + block.end});
  };
  const bool own_rows = grid.owners > 1;
  if (!own_rows) await_rows();
  ForEachPart(taken_, index_, workers_, grid.owners * grid.blocks * grid.cuts, multiply, [&] {
    if (own_rows) await_rows();
  });
}

// Of few rows each worker has panels, so that weights come from memory once. Of many it has rows: those whose norms, sums and
// rounding it computes, too, which so stay in its cache; of the panels it takes as many at a time as stay there for all its rows.
Worker::PartGrid Worker::GridOf(const Linear& op, int64_t bytes, int64_t panels) const {
  const int64_t rows = run_.arguments.rows;
  if (rows < workers_ * kManyRows) return {1, 1, workers_ == 1 ? 1 : std::min(panels, workers_ * kPartsOfFewRows)};
  const int64_t row_bytes = QuantizedRows::Groups(Columns(op.x)) * static_cast<int64_t>(sizeof(ActivationGroup));
  const int64_t together = std::clamp(kBytesOfRows / row_bytes, kFewestTogether, kMostTogether);
  const int64_t blocks = std::max<int64_t>(rows / (workers_ * together), 1);
  // For each cut, a row that has an adapter is multiplied by all of its A.
  const int64_t cuts = run_.arguments.adapters.empty() ? std::max(CeilDiv(kPartsOfManyRows, blocks), CeilDiv(bytes, kBytesOfCut))
                                                       : kPartsOfFewRows;
  return {workers_, blocks, std::min(panels, cuts)};
}

// The panels that start in bytes [begin, end).
void Worker::MultiplyBytes(const Linear& op, const QuantizedRows& rounded, int64_t begin, int64_t end, const Share& rows) {
  int64_t start = 0;
  for (const Product& product : op.products) {
    const WeightShape& weight = run_.graph.weights[product.weight];
    const auto first_panel = [&](int64_t byte) {
      return byte <= start ? 0 : std::min(CeilDiv(byte - start, weight.panel_bytes), weight.panels);
    };
    const int64_t first = first_panel(begin), last = first_panel(end);
    if (first < last) {
      MultiplyPanels(op, product, rounded, first, last, rows);
      if (product.adapter != kNone && !run_.arguments.adapters.empty()) AdaptShare(op, product, {first, last}, rows);
    }
    start += weight.panels * weight.panel_bytes;
  }
}

void Worker::MultiplyPanels(const Linear& op, const Product& product, const QuantizedRows& rounded, int64_t first, int64_t last,
                            const Share& rows) {
  const WeightShape& weight = run_.graph.weights[product.weight];
  const bool floats = weight.float_activations;
  const int64_t x_stride = floats ? StrideOf(op.x) * static_cast<int64_t>(sizeof(float)) : rounded.stride();
  const std::byte* x = floats ? reinterpret_cast<const std::byte*>(RowOf(op.x, rows.begin))
                              : rounded.Rows(product.fine) + rows.begin * x_stride;
  run_.matmul.panels[static_cast<int>(weight.format)]({.panels = run_.arguments.weights[product.weight].data(),
                                                       .panel_begin = first,
                                                       .panel_end = last,
                                                       .in_features = weight.in_features,
                                                       .out_features = weight.out_features,
                                                       .rows = rows.end - rows.begin,
                                                       .x = x,
                                                       .x_stride = x_stride,
                                                       .fine = product.fine,
                                                       .y = RowOf(product.y, rows.begin) + product.first_column,
                                                       .y_stride = StrideOf(product.y)});
}

void Worker::AdaptShare(const Linear& op, const Product& product, const Share& panels, const Share& rows) {
  const WeightShape& weight = run_.graph.weights[product.weight];
  const int64_t begin = panels.begin * PanelFormat::kOutputs;
  const int64_t end = std::min<int64_t>(panels.end * PanelFormat::kOutputs, weight.out_features);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const AdapterProduct* adapter = run_.arguments.adapters[r];
    if (adapter == nullptr || adapter[product.adapter].a == nullptr) continue;
    run_.rows.adapt({RowOf(op.x, r), weight.in_features, Columns(product.y), adapter[product.adapter], product.first_column + begin,
                     product.first_column + end, RowOf(product.y, r)});
  }
}

// A line of keys has two dimensions of sixteen slots. If workers stored what they have computed, rows of few would go to the same lines
// from several cores; so those are shared out by heads, once all have them. Keys take longer than values: they go in turns.
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
  run_.rows.store_head(RowOf(value ? op.value : op.key, row) + head * kv.head_size(), kv.head_size(),
                       {kv.format(), numbers + index * KvView::ElementBytes(kv.format()), value ? 1 : KvView::kSlotsPerBlock, scale});
}

// The query vectors of all rows, key/value head by key/value head. Those of one row walk the same positions: more parts than workers
// would only load keys more often. Those of several are cut between tiles, which so are whole but for a head's last; few tiles also in
// the middle of one (tile_cut.h).
void Worker::Execute(const Attention& op) {
  if (SharesHeads(op)) return AttendTogether(op);
  const int64_t heads = run_.arguments.kv.heads(), per_head = run_.arguments.rows * (op.heads / heads);
  const int64_t unit = single_ ? 1 : AttentionTile::kMost, of_head = CeilDiv(per_head, unit), units = of_head * heads;
  if (!single_ && units < workers_ * kPartsOfManyRows) {
    AttendFewTiles(op, heads, per_head);
  } else {
    const int64_t parts = single_ ? workers_ : workers_ * kPartsOfManyRows;
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
  if (!single_ || kv.heads() % workers_ == 0 || kv.format() != KvFormat::kHalf) return false;
  const AttentionTile tile = TileOf(op, 0, 1);
  return tile.end[0] - tile.begin[0] >= kLongEnough;
}

// Each key and value is loaded by one worker, for all queries of its head: scores are cut by positions, sums of values by columns,
// and neither cut is within a query's chain of operations.
void Worker::AttendTogether(const Attention& op) {
  const int64_t heads = run_.arguments.kv.heads();
  const AttentionTile any = TileOf(op, 0, 1);
  const int first = any.begin[0] / KvView::kSlotsPerBlock;
  const int64_t blocks = CeilDiv(any.end[0], KvView::kSlotsPerBlock) - first;
  const int64_t stride = ScoreStride(any.end[0] - first * KvView::kSlotsPerBlock);
  ForEachTile(op, ShareOf(heads * blocks, index_, workers_), blocks, [&](const AttentionTile& tile, int64_t query, Share share) {
    run_.rows.score_part(tile, run_.scores + query * stride,
                         std::max(any.begin[0], static_cast<int>(first + share.begin) * KvView::kSlotsPerBlock),
                         std::min(any.end[0], static_cast<int>(first + share.end) * KvView::kSlotsPerBlock));
  });
  run_.pool.Barrier();
  const int64_t columns = KvView::ValueStride(any.head_size) / 16;
  ForEachTile(op, ShareOf(heads * columns, index_, workers_), columns, [&](const AttentionTile& tile, int64_t query, Share share) {
    run_.rows.sum_part(tile, run_.scores + query * stride, static_cast<int>(16 * share.begin), static_cast<int>(16 * share.end));
  });
  run_.pool.Barrier();
}

// Every key/value head has `steps_of_head` steps. Calls f(tile, its first query, steps of the head) for those of each head among `steps`.
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
    run_.rows.attend(TileOf(op, i, count));
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
  tile.scale = op.scale;
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
