#include "tessera/npu/host/internal/worker.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked_math.h"
#include "tessera/base/fetch.h"
#include "tessera/quant/panel_schedule.h"
#include "tessera/tensor/tile_layout.h"

namespace tessera {
namespace {

constexpr int64_t kMostToFetch = 48 << 10;  // Bytes of rows at once: a first-level cache. Gates and ups of four rows of SmolLM2.

// Floats from one row of tiles' inputs to the next: an odd number of cache lines, as QuantizedRows::RowStride says.
int64_t TileRowStride(const HostGraph& graph) {
  return graph.tile_inputs == 0 ? 0 : (AlignUp(graph.widest_input, kTileSide) / 16 | 1) * 16;
}

}  // namespace

int64_t RoundedRows::BytesFor(const HostGraph& graph, int64_t rows) {
  return QuantizedRows::BytesFor(rows, graph.widest_input) +
         graph.tile_inputs * rows * TileRowStride(graph) * static_cast<int64_t>(sizeof(float));
}

int64_t WorkerScratchBytes(const HostGraph& graph, int longest_path) {
  const int64_t scores = AttentionScratch(longest_path, graph.widest_head) * static_cast<int64_t>(sizeof(float));
  return AlignUp(graph.private_bytes, 64) + RoundedRows::BytesFor(graph, 1) + AlignUp(scores, 64);
}

int64_t SharedScores(const HostGraph& graph, int longest_path) { return graph.most_heads * ScoreStride(longest_path); }

Worker::Worker(const HostRun& run, int index)
    : run_(run), index_(index), workers_(run.pool.threads()), single_(run.arguments.rows == 1),
      mine_(single_ ? Share{0, 1} : ShareOf(run.arguments.rows, index, workers_)), scratch_(run.scratch + index * run.scratch_bytes) {}

std::byte* Worker::OwnRounded() const { return scratch_ + AlignUp(run_.graph.private_bytes, 64); }

float* Worker::OwnScores() const {
  return reinterpret_cast<float*>(OwnRounded() + RoundedRows::BytesFor(run_.graph, 1));
}

void Worker::Run() {
  const HostGraph& graph = run_.graph;
  const std::vector<Operator>& operators = graph.compiled.graph.operators;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    step_ = &graph.steps[i];
    taken_ = run_.taken + i * static_cast<size_t>(workers_);
    inner_ = -1;
    ExecuteRows();
    if (step_->shared == operators.size()) return;
    if (step_->barrier_before_shared && !single_) run_.pool.Barrier();
    std::visit([&](const auto& op) { if constexpr (requires { Execute(op); }) Execute(op); }, operators[step_->shared]);
  }
}

// Runs the step's operators that see no other row, and the rounding behind them, row by row. So numbers passed between operators stay in a
// first-level cache. Numbers that no other worker reads are at the same place for all rows (HostGraph::passing).
void Worker::ExecuteRows() {
  const std::vector<Operator>& operators = run_.graph.compiled.graph.operators;
  const bool rounds = step_->rounds || step_->rounds_fine || !step_->tile_inputs.empty();
  const Linear* const rounding = rounds ? &std::get<Linear>(operators[step_->shared]) : nullptr;
  const bool adapts = step_->inners > 0 && !single_ && !run_.arguments.adapters.empty();
  if (step_->begin < step_->shared) FetchRows();
  if (rounding != nullptr && !single_) FetchRounded(*rounding);
  for (int64_t r = mine_.begin; r < mine_.end; ++r) {
    for (size_t i = step_->begin; i < step_->shared; ++i) {
      std::visit([&](const auto& op) { if constexpr (requires { ExecuteRow(op, r); }) ExecuteRow(op, r); }, operators[i]);
    }
    if (rounding != nullptr) RoundRow(*rounding, r);
    if (adapts) AdaptDown(std::get<Linear>(operators[step_->shared]), r);
  }
}

// Prefetches the parts of this worker's rows that other workers wrote, before the first line is needed. Many lines come from another core's
// cache in the time of one.
void Worker::FetchRows() const {
  int64_t bytes = 0;
  for (const BufferId buffer : step_->reads) bytes += Columns(buffer) * static_cast<int64_t>(sizeof(float));
  if ((mine_.end - mine_.begin) * bytes > kMostToFetch) return;
  for (const BufferId buffer : step_->reads) {
    for (int64_t r = mine_.begin; r < mine_.end; ++r) FetchLines(RowOf(buffer, r), Columns(buffer) * static_cast<int64_t>(sizeof(float)));
  }
}

// Prefetches the lines that will receive this worker's rounded rows: other workers have read the last rows there.
void Worker::FetchRounded(const Linear& op) const {
  if ((mine_.end - mine_.begin) * QuantizedRows::BytesFor(1, Columns(op.x)) > kMostToFetch) return;
  const QuantizedRows rows = Rounded(op).groups;
  const int64_t groups = QuantizedRows::Groups(Columns(op.x));
  for (int64_t r = mine_.begin; r < mine_.end; ++r) {
    if (step_->rounds) FetchToWrite(rows.Row(r), groups * static_cast<int64_t>(sizeof(ActivationGroup)));
    if (step_->rounds_fine) FetchToWrite(rows.FineRow(r), groups * static_cast<int64_t>(sizeof(FineActivationGroup)));
  }
}

float* Worker::RowOf(BufferId buffer, int64_t r) const {
  const HostGraph& graph = run_.graph;
  const int external = graph.external[buffer];
  const bool own = single_ ? graph.row_written[buffer] && (external < 0 || index_ > 0)  // Worker 0 writes the caller's copy.
                           : graph.passing[buffer];
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
  for (int g = 0; g < op.groups; ++g) run_.arithmetic.rows.rms_norm(x + g * part, Vector(op.weight), part, op.epsilon, y + g * part);
}

void Worker::ExecuteRow(const AddBias& op, int64_t r) {
  run_.arithmetic.rows.add(RowOf(op.x, r), Vector(op.weight), Columns(op.x), RowOf(op.y, r));
}

void Worker::ExecuteRow(const Add& op, int64_t r) {
  run_.arithmetic.rows.add(RowOf(op.a, r), RowOf(op.b, r), Columns(op.a), RowOf(op.y, r));
}

void Worker::ExecuteRow(const GatedActivation& op, int64_t r) {
  run_.arithmetic.rows.gated(RowOf(op.gate, r), RowOf(op.up, r), Columns(op.gate), op.activation, RowOf(op.y, r));
}

void Worker::ExecuteRow(const Rope& op, int64_t r) {
  const RopeShape shape = {op.heads, static_cast<int>(Columns(op.x) / op.heads), op.dimensions, op.pairs};
  run_.arithmetic.rows.rope(RowOf(op.x, r), run_.arguments.rope_tables[op.table] + r * op.dimensions, shape, RowOf(op.y, r));
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
  if (single_) run_.pool.Barrier();  // The other workers read the part that one worker wrote.
}

RoundedRows Worker::Rounded(const Linear& op) const {
  const HostGraph& graph = run_.graph;
  std::byte* const storage = single_ ? OwnRounded() : run_.rounded;
  const int64_t rows = single_ ? 1 : graph.compiled.row_capacity;
  auto* const tiles = reinterpret_cast<float*>(storage + QuantizedRows::BytesFor(rows, graph.widest_input));
  return {{storage, Columns(op.x)}, tiles, rows, TileRowStride(graph)};
}

// Rounds a row of x as the products require: to 8 bits, to 16 bits, to FP16, to several of these, or not at all. Every worker rounds a
// single row redundantly. Several rows are divided among workers, and a worker waits for the others before reading their rows.
void Worker::RoundRow(const Linear& op, int64_t r) {
  const RoundedRows rows = Rounded(op);
  const float* const x = RowOf(op.x, r);
  if (step_->rounds) run_.arithmetic.matmul.quantize_row(x, Columns(op.x), rows.groups.Row(r));
  if (step_->rounds_fine) run_.arithmetic.matmul.quantize_row_fine(x, Columns(op.x), rows.groups.FineRow(r));
  for (size_t i = 0; i < step_->tile_inputs.size(); ++i) {
    run_.arithmetic.tiles->round_row(x, Columns(op.x), step_->tile_inputs[i], rows.Tile(static_cast<int>(i), r));
  }
}

void Worker::Execute(const Linear& op) {
  const uint64_t arrival = single_ ? 0 : run_.pool.Arrive();
  const PanelSchedule schedule({.matrices = step_->matrices,
                                .rows = run_.arguments.rows,
                                .workers = workers_,
                                .costly_parts = !run_.arguments.adapters.empty(),
                                .costly_weights = !step_->tile_inputs.empty()});
  const auto multiply = [&](int product, const Share& panels, const Share& rows) { Multiply(op, product, panels, rows); };
  schedule.Run(taken_, index_, multiply, [&] { if (!single_) run_.pool.AwaitOthers(arrival); });
  run_.pool.Barrier();
}

void Worker::Multiply(const Linear& op, int index, const Share& panels, const Share& rows) {
  if (step_->input_of[index] < 0) {
    MultiplyPanels(op, index, panels, rows);
  } else {
    MultiplyTiles(op, index, panels, rows);
  }
  if (op.products[index].adapter != kNone && !run_.arguments.adapters.empty()) AdaptUp(op, index, panels, rows);
}

void Worker::MultiplyPanels(const Linear& op, int index, const Share& panels, const Share& rows) {
  const Product& product = op.products[index];
  const PanelShape& matrix = step_->matrices[index];
  const QuantizedRows rounded = Rounded(op).groups;
  const bool floats = matrix.float_activations;
  const int64_t x_stride = floats ? StrideOf(op.x) * static_cast<int64_t>(sizeof(float)) : rounded.stride();
  const std::byte* x = floats ? reinterpret_cast<const std::byte*>(RowOf(op.x, rows.begin))
                              : rounded.Rows(product.fine) + rows.begin * x_stride;
  run_.arithmetic.matmul.panels[static_cast<int>(matrix.format)]({.panels = run_.arguments.weights[product.weight].data(),
                                                                  .panel_begin = panels.begin,
                                                                  .panel_end = panels.end,
                                                                  .in_features = matrix.in_features,
                                                                  .out_features = matrix.out_features,
                                                                  .rows = rows.end - rows.begin,
                                                                  .x = x,
                                                                  .x_stride = x_stride,
                                                                  .fine = product.fine,
                                                                  .y = RowOf(product.y, rows.begin) + product.first_column,
                                                                  .y_stride = StrideOf(product.y)});
}

void Worker::MultiplyTiles(const Linear& op, int index, const Share& panels, const Share& rows) {
  const Product& product = op.products[index];
  const PanelShape& matrix = step_->matrices[index];
  const RoundedRows rounded = Rounded(op);
  run_.arithmetic.tiles->multiply(*run_.graph.compiled.graph.weights[product.weight].tile,
                                  {.panels = run_.arguments.weights[product.weight].data(),
                                   .panel_begin = panels.begin,
                                   .panel_end = panels.end,
                                   .in_features = matrix.in_features,
                                   .out_features = matrix.out_features,
                                   .rows = rows.end - rows.begin,
                                   .x = rounded.Tile(step_->input_of[index], rows.begin),
                                   .x_stride = rounded.stride,
                                   .bias = product.bias == kNone ? nullptr : Vector(product.bias) + product.first_column,
                                   .y = RowOf(product.y, rows.begin) + product.first_column,
                                   .y_stride = StrideOf(product.y)});
}

const AdapterProduct* Worker::AdapterOf(const Product& product, int64_t r) const {
  const AdapterProduct* const adapter = run_.arguments.adapters[r];
  return adapter == nullptr || adapter[product.adapter].a == nullptr ? nullptr : &adapter[product.adapter];
}

float* Worker::Inner(int inner, int64_t r) const {
  return run_.inner + ((single_ ? index_ : r) * run_.graph.inners + inner) * run_.inner_stride;
}

// A x for all products, once for each A. With several rows this belongs to the preparation of a row, which is one worker's alone.
void Worker::AdaptDown(const Linear& op, int64_t r) {
  int next = 0;
  for (size_t i = 0; i < op.products.size() && next < step_->inners; ++i) {
    if (step_->inner_of[i] != next) continue;
    const AdapterProduct* const adapter = AdapterOf(op.products[i], r);
    if (adapter != nullptr) run_.arithmetic.rows.adapt_down(*adapter, RowOf(op.x, r), Columns(op.x), Inner(next, r));
    ++next;
  }
}

// With a single row, a worker computes A x only for matrices of which the worker has a part, at the first such part.
void Worker::AdaptUp(const Linear& op, int index, const Share& panels, const Share& rows) {
  const Product& product = op.products[index];
  const int64_t begin = panels.begin * PanelShape::kOutputs;
  const int64_t end = std::min<int64_t>(panels.end * PanelShape::kOutputs, step_->matrices[index].out_features);
  const int inner = step_->inner_of[index];
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const AdapterProduct* const adapter = AdapterOf(product, r);
    if (adapter == nullptr) continue;
    if (single_ && std::exchange(inner_, inner) != inner) {
      run_.arithmetic.rows.adapt_down(*adapter, RowOf(op.x, r), Columns(op.x), Inner(inner, r));
    }
    run_.arithmetic.rows.adapt_up({Inner(inner, r), Columns(product.y), *adapter, product.first_column + begin,
                                   product.first_column + end, RowOf(product.y, r)});
  }
}

}  // namespace tessera
