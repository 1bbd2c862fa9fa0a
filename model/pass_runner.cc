#include "tessera/model/pass_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/exit_map.h"
#include "tessera/model/internal/block_runner.h"
#include "tessera/model/internal/pass_rows.h"

namespace tessera {
namespace {

// Returns the bytes of one row of hidden states.
int64_t RowBytes(const ModelConfig& config) { return RowStride(config.width) * static_cast<int64_t>(sizeof(float)); }

// Caps logits softly: cap * tanh(logit / cap). Takes some 10 ns per logit.
void Cap(double cap, TensorView<float> logits) {
  for (int64_t row = 0; row < logits.rows(); ++row) {
    for (float& logit : absl::MakeSpan(logits.row(row), static_cast<size_t>(logits.columns()))) {
      logit = static_cast<float>(cap * elementary::Tanh(logit / cap));
    }
  }
}

}  // namespace

PassRunner::PassRunner(const ModelConfig& config, CompiledModel model, EmbeddingTable embedding, const Options& options)
    : config_(config), always_cancel_(options.cancel), exit_map_(options.exit_map), pool_(options.pool), model_(std::move(model)),
      embedding_(std::move(embedding)) {}

PassRunner::~PassRunner() = default;

absl::StatusOr<std::unique_ptr<PassRunner>> PassRunner::Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                               WeightSource& source, Device& device, const Options& options) {
  ASSIGN_OR_RETURN(EmbeddingTable embedding, EmbeddingTable::Create(config, layout));
  auto runner = std::unique_ptr<PassRunner>(new PassRunner(config, std::move(model), std::move(embedding), options));
  runner->blocks_ = std::make_unique<BlockRunner>(runner->model_, source, device, options.timeline);
  RETURN_IF_ERROR(options.loads_graphs ? runner->blocks_->LoadGraphs(device.limits()) : runner->LoadAllButLayers());
  runner->blocks_->store().SetLoadsAhead(options.loads_graphs);
  ASSIGN_OR_RETURN(PassRows rows, PassRows::Create(config, runner->row_capacity()));
  runner->rows_ = std::make_unique<PassRows>(std::move(rows));
  constexpr auto kPages = AlignedBuffer::Pages::kLarge;
  for (AlignedBuffer& hidden : runner->hidden_) {
    ASSIGN_OR_RETURN(hidden, AlignedBuffer::Allocate(RowBytes(config) * runner->row_capacity(), kPages, "rows of a pass"));
  }
  ASSIGN_OR_RETURN(runner->chosen_, AlignedBuffer::Allocate(kHeadRows * RowBytes(config), kPages, "rows of the head"));
  if (options.exit_map != nullptr) {
    ASSIGN_OR_RETURN(runner->mapped_, AlignedBuffer::Allocate(kHeadRows * RowBytes(config), kPages, "mapped rows of the head"));
  }
  return runner;
}

int64_t PassRunner::ScratchBytes(const ModelConfig& config, int row_capacity) {
  return (2 * row_capacity + kHeadRows) * RowBytes(config);
}

absl::Status PassRunner::LoadAllButLayers() {
  for (int block = 0; block < static_cast<int>(model_.variants().size()); ++block) {
    if (block > CompiledModel::kLastEmbeddingPanel && block < model_.output_norm()) continue;
    for (const std::shared_ptr<const CompiledGraph>& graph : model_.variants()[static_cast<size_t>(block)]) {
      RETURN_IF_ERROR(blocks_->store().For(block, graph->row_capacity).status());
    }
  }
  return absl::OkStatus();
}

absl::Status PassRunner::SwitchGraphs(int first, int end, int rows) {
  GraphStore& store = blocks_->store();
  store.SplitLoads();
  // The other layers are switched all the same: a graph that stayed would be one too many next to the graph of a pass.
  absl::Status first_error;
  for (int layer = first; layer < end; ++layer) {
    first_error.Update(store.Switch(model_.layer(layer), rows));
    if (layer == model_.layers() - 1) first_error.Update(store.Switch(model_.last_keys_and_values(), rows));
  }
  return first_error;
}

bool PassRunner::GraphsAreReady(int first, int end) const {
  const GraphStore& store = blocks_->store();
  for (int layer = first; layer < end; ++layer) {
    if (!store.IsReady(model_.layer(layer))) return false;
    if (layer == model_.layers() - 1 && !store.IsReady(model_.last_keys_and_values())) return false;
  }
  return true;
}

void PassRunner::SetSource(WeightSource& source) { blocks_->SetSource(source); }
void PassRunner::SetTimeline(Timeline* timeline) { blocks_->SetTimeline(timeline); }

BoundBuffer PassRunner::Hidden(int which, int64_t place) const {
  const int64_t stride = RowStride(config_.width);
  return {hidden_[which].as<float>() + place * stride, stride};
}

absl::StatusOr<Pass> PassRunner::Begin(absl::Span<const PassRow> rows, const KvCache& cache, const std::atomic<bool>* cancel) {
  if (is_open_) return absl::FailedPreconditionError("pass: found another one under way, expected it to be finished or ended");
  RETURN_IF_ERROR(rows_->Set(rows, cache, model_.rows_together()));
  ++last_pass_;
  current_ = 0;
  if (!rows.empty()) passes_begun_.fetch_add(1, std::memory_order_relaxed);
  return Pass(*this, static_cast<int>(rows.size()), cancel);
}

absl::StatusOr<HiddenRows> PassRunner::Run(absl::Span<const PassRow> rows, const KvCache& cache, absl::Span<const int> wanted,
                                           const std::atomic<bool>* cancel) {
  ASSIGN_OR_RETURN(Pass pass, Begin(rows, cache, cancel));
  return pass.Finish(wanted);
}

void PassRunner::KeepRows(absl::Span<const int> places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (static_cast<size_t>(places[i]) == i) continue;
    std::copy_n(Hidden(current_, places[i]).data, config_.width, Hidden(current_, static_cast<int64_t>(i)).data);
  }
  rows_->Keep(places);
}

absl::Status PassRunner::Logits(absl::Span<const RowOf> rows, TensorView<float> logits, const std::atomic<bool>* cancel) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].pass == nullptr) return absl::InvalidArgumentError(absl::StrCat("row ", i, " of logits: found no pass, expected one"));
  }
  const auto state_of = [&](size_t i) { return rows[i].pass->At(rows[i].row, *this); };
  return LogitsOf(rows.size(), state_of, logits, cancel);
}

absl::Status PassRunner::Logits(const HiddenRows& pass, absl::Span<const int> rows, TensorView<float> logits,
                                const std::atomic<bool>* cancel) {
  const auto state_of = [&](size_t i) { return pass.At(rows[i], *this); };
  return LogitsOf(rows.size(), state_of, logits, cancel);
}

absl::Status PassRunner::LogitsOf(size_t rows, StateOf state_of, TensorView<float> logits, const std::atomic<bool>* cancel) {
  if (logits.rows() != static_cast<int64_t>(rows) || logits.columns() != config_.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("logits: found [", logits.rows(), ", ", logits.columns(), "], expected [", rows, ", ",
                                                   config_.vocabulary, "]"));
  }
  for (size_t i = 0; i < rows; ++i) RETURN_IF_ERROR(state_of(i).status());
  blocks_->SetCancel(always_cancel_, cancel);
  TimelineScope scope(blocks_->timeline(), Zone::kHead, static_cast<int>(rows));
  const size_t capacity = static_cast<size_t>(row_capacity());
  for (size_t begin = 0; begin < rows; begin += capacity) {
    const size_t end = std::min(rows, begin + capacity);
    RETURN_IF_ERROR(Normalize(begin, end, state_of));
    const TensorView<float> some = logits.Rows(static_cast<int64_t>(begin), static_cast<int64_t>(end - begin));
    RETURN_IF_ERROR(RunHead(static_cast<int>(end - begin), some));
    if (config_.logit_cap > 0) Cap(config_.logit_cap, some);
  }
  return absl::OkStatus();
}

// Normalizes into the buffer of hidden states that no layer has written last. REQUIRES: all states of state_of are available.
absl::Status PassRunner::Normalize(size_t begin, size_t end, StateOf state_of) {
  const int64_t stride = RowStride(config_.width);
  float* const picked = chosen_.as<float>();
  const BoundBuffer normed = Hidden(1 - current_);
  RunArguments arguments;
  for (size_t first = begin; first < end; first += kHeadRows) {
    arguments.rows = static_cast<int>(std::min<size_t>(kHeadRows, end - first));
    for (int i = 0; i < arguments.rows; ++i) {
      std::copy_n(*state_of(first + static_cast<size_t>(i)), config_.width, picked + i * stride);
    }
    float* from = picked;
    if (exit_map_ != nullptr) {
      const int64_t rows = arguments.rows;
      RETURN_IF_ERROR(exit_map_->Apply({picked, rows, config_.width, stride}, {mapped_.as<float>(), rows, config_.width, stride}, *pool_));
      from = mapped_.as<float>();
    }
    arguments.buffers = {{from, stride}, {normed.data + static_cast<int64_t>(first - begin) * stride, stride}};
    const BlockRunner::Leased leased = blocks_->Lease(model_.output_norm());
    RETURN_IF_ERROR(leased.status());
    RETURN_IF_ERROR(blocks_->Run({model_.output_norm(), arguments.rows}, model_.layers(), arguments, {model_.head(0), arguments.rows}));
  }
  return absl::OkStatus();
}

// Leases each part of the head once, for any number of rows: the part may have to be read from a slow store.
absl::Status PassRunner::RunHead(int rows, TensorView<float> logits) {
  const BoundBuffer normed = Hidden(1 - current_);
  const int end = model_.head(model_.head_parts());
  for (int block = model_.head(0); block < end; ++block) {
    const int64_t first_row = model_.block(block).parts[0].first_row;
    const BlockRunner::Leased leased = blocks_->Lease(block);
    RETURN_IF_ERROR(leased.status());
    for (int begin = 0; begin < rows; begin += kHeadRows) {
      RunArguments arguments;
      arguments.rows = std::min(kHeadRows, rows - begin);
      arguments.buffers = {{normed.data + begin * normed.row_stride, normed.row_stride},
                           {logits.data() + begin * logits.row_stride() + first_row, logits.row_stride()}};
      const bool goes_on = begin + kHeadRows >= rows && block + 1 < end;
      const GraphNeed next = {goes_on ? block + 1 : kNone, std::min(rows, kHeadRows)};
      RETURN_IF_ERROR(blocks_->Run({block, arguments.rows}, model_.layers(), arguments, next));
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
