#include "tessera/model/pass.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/block_runner.h"
#include "tessera/model/internal/pass_rows.h"
#include "tessera/model/pass_runner.h"

namespace tessera {
namespace {

int MostAtOnce(const LayerRun& run, const CompiledModel& model) {
  return run.chunk_rows > 0 ? run.chunk_rows : run.graph_rows > 0 ? run.graph_rows : model.rows_together();
}

// Resolves a run for `rows` rows: the rows of the largest chunk, and the minimum rows of the graph.
LayerRun AtOnce(const LayerRun& run, int rows, const CompiledModel& model) {
  const int most = MostAtOnce(run, model);
  const int chunk = rows == 0 ? most : static_cast<int>(CeilDiv(rows, CeilDiv(rows, most)));
  return {.chunk_rows = chunk, .graph_rows = std::max(run.graph_rows, chunk)};
}

// The layers that one call runs: first, first + 1, ... before `to`.
struct WalkPlan {
  const CompiledModel& model;
  int first = 0, to = 0;
  absl::Span<const LayerRun> runs = {};   // Empty: all by default.
  bool spares = false;                    // For some rows the last layer will compute only keys and values.

  LayerRun RunOf(int layer) const {
    const size_t index = static_cast<size_t>(layer - first);
    return index < runs.size() ? runs[index] : LayerRun();
  }

  // Returns the first graph that a layer needs for `rows` rows. Returns none for layer `to` if the run of this layer is unknown: the caller
  // chooses the runs, or Finish decides whether the last layer spares rows.
  GraphNeed NeedOf(int layer, int rows) const {
    const int last = model.layers() - 1;
    if (layer > last) return {model.output_norm(), rows};
    const bool is_last = layer == last;
    if (layer == to && !spares && (is_last || !runs.empty())) return {};
    return {is_last && spares ? model.last_keys_and_values() : model.layer(layer), AtOnce(RunOf(layer), rows, model).graph_rows};
  }
};

}  // namespace

Pass::Pass(PassRunner& runner, int rows, const std::atomic<bool>* cancel)
    : runner_(&runner), given_(rows), cancel_(cancel), timeline_(runner.blocks_->timeline()) {
  runner.is_open_ = true;
  if (timeline_ != nullptr) begin_ns_ = timeline_->Now();
}

Pass::Pass(Pass&& other) noexcept
    : runner_(std::exchange(other.runner_, nullptr)), given_(other.given_), cancel_(other.cancel_), layer_(other.layer_),
      embedded_(other.embedded_), timeline_(other.timeline_), begin_ns_(other.begin_ns_) {}

Pass::~Pass() { End(); }

absl::Status Pass::CheckOpen() const {
  if (runner_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("pass: found one that is over, expected one that is neither finished nor ended by an error");
}

absl::Status Pass::OrEnd(const absl::Status& status) {
  if (!status.ok()) End();
  return status;
}

void Pass::End() {
  if (runner_ == nullptr) return;
  if (timeline_ != nullptr && timeline_ == runner_->blocks_->timeline()) {   // Another timeline may have been set, and this one be gone.
    timeline_->Record({Zone::kPass, Resource::kCpu, given_, begin_ns_, timeline_->Now()});
  }
  runner_->is_open_ = false;
  runner_ = nullptr;
}

absl::Span<const int> Pass::rows() const { return runner_ == nullptr ? absl::Span<const int>() : runner_->rows_->numbers(); }

absl::StatusOr<TensorView<const float>> Pass::Hidden() const {
  RETURN_IF_ERROR(CheckOpen());
  if (!embedded_) return absl::FailedPreconditionError("hidden states: found no RunTo before, expected one");
  const BoundBuffer hidden = runner_->Hidden(runner_->current_);
  return TensorView<const float>(hidden.data, runner_->rows_->size(), runner_->config_.width, hidden.row_stride);
}

absl::Status Pass::Drop(absl::Span<const int> rows) {
  RETURN_IF_ERROR(CheckOpen());
  ASSIGN_OR_RETURN(const absl::Span<const int> left, runner_->rows_->PlacesWithout(rows));
  runner_->KeepRows(left);
  return absl::OkStatus();
}

absl::Status Pass::CheckRuns(absl::Span<const LayerRun> runs, int layers) const {
  if (!runs.empty() && runs.size() != static_cast<size_t>(layers)) {
    return absl::InvalidArgumentError(absl::StrCat("layer runs: found ", runs.size(), ", expected ", layers, ", one per layer, or none"));
  }
  const int most = runner_->model_.rows_together();
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& [chunk, graph] = runs[i];
    const int layer = layer_ + static_cast<int>(i);
    if (graph < 0 || graph > most) {
      return absl::InvalidArgumentError(absl::StrCat("graph_rows of layer ", layer, ": found ", graph, ", expected 0 to ", most));
    }
    const int most_of_chunk = graph == 0 ? most : graph;
    if (chunk < 0 || chunk > most_of_chunk) {
      return absl::InvalidArgumentError(absl::StrCat("chunk_rows of layer ", layer, ": found ", chunk, ", expected 0 to ", most_of_chunk));
    }
    RETURN_IF_ERROR(runner_->rows_->CheckChunks(MostAtOnce(runs[i], runner_->model_)));
  }
  return absl::OkStatus();
}

absl::Status Pass::RunTo(int layer, absl::Span<const LayerRun> runs) {
  RETURN_IF_ERROR(CheckOpen());
  const int layers = runner_->model_.layers();
  if (layer < layer_ || layer > layers) {
    return absl::InvalidArgumentError(absl::StrCat("layer of a pass: found ", layer, ", expected ", layer_, " to ", layers));
  }
  RETURN_IF_ERROR(CheckRuns(runs, layer - layer_));
  return OrEnd(Walk(layer, runs, /*spares=*/false));
}

absl::StatusOr<HiddenRows> Pass::Finish(absl::Span<const int> wanted, absl::Span<const LayerRun> runs) {
  RETURN_IF_ERROR(CheckOpen());
  ASSIGN_OR_RETURN(const absl::Span<const int> places, runner_->rows_->PlacesOf(wanted, "wanted"));
  RETURN_IF_ERROR(CheckRuns(runs, runner_->model_.layers() - layer_));
  return FinishPlaces(places, runs);
}

absl::StatusOr<HiddenRows> Pass::FinishAll(absl::Span<const LayerRun> runs) {
  RETURN_IF_ERROR(CheckOpen());
  return Finish(runner_->rows_->numbers(), runs);
}

absl::StatusOr<HiddenRows> Pass::FinishPlaces(absl::Span<const int> places, absl::Span<const LayerRun> runs) {
  PassRunner& runner = *runner_;
  const int last = runner.model_.layers() - 1;
  const int64_t rows = runner.rows_->size();
  const bool some = static_cast<int64_t>(places.size()) < rows;
  const bool spares = some && layer_ <= last;
  RETURN_IF_ERROR(OrEnd(Walk(spares ? last : last + 1, runs, spares)));
  if (spares) {
    RETURN_IF_ERROR(OrEnd(RunLastLayer(places, runs.empty() ? LayerRun() : runs.back())));
  } else if (some) {
    runner.KeepRows(places);
  }
  runner.rows_done_.fetch_add(rows, std::memory_order_relaxed);
  End();
  return HiddenRows(&runner, runner.last_pass_);
}

absl::Status Pass::Walk(int to, absl::Span<const LayerRun> runs, bool spares) {
  PassRunner& runner = *runner_;
  runner.blocks_->SetCancel(runner.always_cancel_, cancel_);
  const int rows = runner.rows_->size();
  const WalkPlan plan = {.model = runner.model_, .first = layer_, .to = to, .runs = runs, .spares = spares};
  if (!embedded_) RETURN_IF_ERROR(Embed(plan.NeedOf(layer_, rows)));
  for (; layer_ < to && rows > 0; ++layer_) {
    const int block = runner.model_.layer(layer_);
    const BlockRunner::Leased leased = runner.blocks_->Lease(block);
    RETURN_IF_ERROR(leased.status());
    RETURN_IF_ERROR(RunChunks(block, plan.RunOf(layer_), {runner.current_, 1 - runner.current_}, plan.NeedOf(layer_ + 1, rows)));
    runner.current_ = 1 - runner.current_;
  }
  layer_ = to;
  return absl::OkStatus();
}

absl::Status Pass::Embed(GraphNeed next) {
  PassRunner& runner = *runner_;
  const PassRows& rows = *runner.rows_;
  RETURN_IF_ERROR(runner.blocks_->CheckCancelled());
  RETURN_IF_ERROR(runner.embedding_.LookUp(rows.tokens(), runner.blocks_->source(), runner.blocks_->store(),
                                           runner.Hidden(runner.current_), next, runner.blocks_->timeline()));
  for (int place = 0; place < rows.size(); ++place) {
    if (rows.embedding(place) == nullptr) continue;
    std::copy_n(rows.embedding(place), runner.config_.width, runner.Hidden(runner.current_, place).data);
  }
  embedded_ = true;
  return absl::OkStatus();
}

// Computes keys and values of all rows, then the whole layer for the wanted rows. The wanted rows store their keys and values once more,
// with the same bits. The layer's weights are leased once for both: a unit that was given back returns only in the next pass.
absl::Status Pass::RunLastLayer(absl::Span<const int> places, const LayerRun& run) {
  PassRunner& runner = *runner_;
  const CompiledModel& model = runner.model_;
  const int block = model.layer(layer_);
  const BlockRunner::Leased leased = runner.blocks_->Lease(block);
  RETURN_IF_ERROR(leased.status());
  const GraphNeed whole = {places.empty() ? kNone : block, AtOnce(run, static_cast<int>(places.size()), model).graph_rows};
  RETURN_IF_ERROR(RunChunks(model.last_keys_and_values(), run, {runner.current_}, whole));
  runner.KeepRows(places);
  if (!places.empty()) {
    RETURN_IF_ERROR(RunChunks(block, run, {runner.current_, 1 - runner.current_},
                              {model.output_norm(), static_cast<int>(places.size())}));
    runner.current_ = 1 - runner.current_;
  }
  ++layer_;
  return absl::OkStatus();
}

// Computes a block of the next layer for all rows, in chunks of nearly equal size. hidden: the buffers that the block reads and writes.
// REQUIRES: the block's units are leased.
absl::Status Pass::RunChunks(int block, const LayerRun& run, absl::Span<const int> hidden, GraphNeed next) {
  PassRunner& runner = *runner_;
  const int count = runner.rows_->size();
  const LayerRun at_once = AtOnce(run, count, runner.model_);
  const int chunks = static_cast<int>(CeilDiv(count, at_once.chunk_rows));
  for (int i = 0; i < chunks; ++i) {
    const Share chunk = ShareOf(count, i, chunks);
    RunArguments arguments = runner.rows_->ArgumentsOf(layer_, chunk);
    for (const int which : hidden) arguments.buffers.push_back(runner.Hidden(which, chunk.begin));
    RETURN_IF_ERROR(runner.blocks_->Run({block, at_once.graph_rows}, layer_, arguments, i == chunks - 1 ? next : GraphNeed{}));
  }
  return absl::OkStatus();
}

}  // namespace tessera
