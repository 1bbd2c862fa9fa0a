#include "tessera/runtime/engine/switching/measure_switching.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {

namespace {

// Rows of a pass that runs all graphs. With one row, no graph would need the last layer's keys and values without the rest of that layer.
constexpr int kAwaitedRows = 2;

absl::StatusOr<GraphMotion*> MotionOf(const EngineCore& core) {
  if (core.motion() == nullptr) return absl::FailedPreconditionError("switch times: found an engine whose graphs are not switched");
  if (!core.is_loaded()) return absl::FailedPreconditionError("switch times: found no weights, expected LoadWeights before");
  return core.motion();
}

// Returns the block's smallest graph of at least `rows` rows; null: no graph has as many.
const CompiledGraph* GraphOf(const CompiledModel& model, int block, int rows) {
  for (const std::shared_ptr<const CompiledGraph>& graph : model.variants()[static_cast<size_t>(block)]) {
    if (graph->row_capacity >= rows) return graph.get();
  }
  return nullptr;
}

absl::Status CheckRows(const CompiledModel& model, absl::Span<const int> rows) {
  int last = 0;
  for (const int count : rows) {
    if (count <= last || GraphOf(model, model.layer(0), count) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("switch times: found ", count, " rows after ", last,
                                                     ", expected rows of the model's graphs in ascending order"));
    }
    last = count;
  }
  return absl::OkStatus();
}

// Walks a pass over `count` tokens, layer by layer, with graphs of `graph_rows` rows. Returns each layer's seconds; in the last layer one
// row is wanted.
absl::StatusOr<std::vector<double>> WalkLayers(EngineCore& core, const Clock& clock, int count, int graph_rows) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
  CachedText text(core.cache());
  text.Append(std::vector<TokenId>(static_cast<size_t>(count), 0));
  RETURN_IF_ERROR(core.MakeRoom(count));
  text.MakeExtendable();
  std::vector<PassRow> rows;
  RETURN_IF_ERROR(text.PlaceNext(count, /*adapter=*/nullptr, rows));
  ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, /*cancel=*/nullptr));
  const LayerRun run = {.chunk_rows = std::min(count, graph_rows), .graph_rows = graph_rows};
  RETURN_IF_ERROR(pass.RunTo(0));   // Looks up embeddings.
  std::vector<double> seconds;
  for (int layer = 0, layers = core.runner().model().layers(); layer < layers; ++layer) {
    const int64_t begin = clock.NowNanos();
    const absl::Status status = layer + 1 < layers ? pass.RunTo(layer + 1, {run}) : pass.Finish({count - 1}, {run}).status();
    RETURN_IF_ERROR(status);
    seconds.push_back(ElapsedSeconds(begin, clock.NowNanos()));
  }
  return seconds;
}

// Returns the cost of a layer's graph as a load of its own. The last layer includes the graph of its keys and values.
LoadCost CostOfLoading(const EngineCore& core, int layer, int rows) {
  const CompiledModel& model = core.runner().model();
  const auto cost_of = [&](int block) {
    const CompiledGraph* const graph = GraphOf(model, block, rows);
    return graph == nullptr ? LoadCost() : core.device().CostOfBlock(block, *graph);
  };
  LoadCost cost = cost_of(model.layer(layer));
  if (layer < model.layers() - 1) return cost;
  const LoadCost beside = cost_of(model.last_keys_and_values());
  cost.seconds += beside.seconds - beside.fixed_seconds;
  return cost;
}

void AddLoads(const EngineCore& core, GraphTimes& times) {
  times.fixed_seconds = std::numeric_limits<double>::infinity();
  for (int layer = 0; layer < core.runner().model().layers(); ++layer) {
    const LoadCost cost = CostOfLoading(core, layer, times.rows);
    times.load_seconds.push_back(cost.seconds);
    times.fixed_seconds = std::min(times.fixed_seconds, cost.fixed_seconds);
  }
}

absl::StatusOr<GraphTimes> TimesOf(EngineCore& core, const Clock& clock, int count, int rows) {
  const int layers = core.runner().model().layers();
  RETURN_IF_ERROR(core.runner().SwitchGraphs(0, layers, rows));
  RETURN_IF_ERROR(WalkLayers(core, clock, std::min(kAwaitedRows, count), rows).status());
  GraphTimes times = {.rows = rows};
  ASSIGN_OR_RETURN(times.run_seconds, WalkLayers(core, clock, count, rows));
  const double runs = static_cast<double>(CeilDiv(count, rows));
  for (double& seconds : times.run_seconds) seconds /= runs;
  AddLoads(core, times);
  return times;
}

absl::StatusOr<std::vector<GraphTimes>> TimesOfAll(EngineCore& core, const Clock& clock, absl::Span<const int> rows) {
  std::vector<GraphTimes> all;
  const int count = rows.empty() ? 0 : std::min({rows.back(), core.context(), core.runner().row_capacity()});
  for (const int each : rows) {
    ASSIGN_OR_RETURN(GraphTimes times, TimesOf(core, clock, count, each));
    all.push_back(std::move(times));
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<GraphTimes>> MeasureGraphTimes(Engine& engine, absl::Span<const int> rows) {
  EngineCore& core = CoreOf(engine);
  ASSIGN_OR_RETURN(GraphMotion* const motion, MotionOf(core));
  RETURN_IF_ERROR(CheckRows(core.runner().model(), rows));
  absl::StatusOr<std::vector<GraphTimes>> times = TimesOfAll(core, engine.ClockOr(nullptr), rows);
  const absl::Status restored = motion->Reset();
  RETURN_IF_ERROR(times.status());
  RETURN_IF_ERROR(restored);
  RETURN_IF_ERROR(AwaitGraphs(engine));
  return times;
}

absl::StatusOr<std::vector<SwitchTimes>> MeasureSwitchTimes(Engine& engine) {
  EngineCore& core = CoreOf(engine);
  ASSIGN_OR_RETURN(GraphMotion* const motion, MotionOf(core));
  const int decode_rows = motion->options().decode_rows, prefill_rows = motion->options().prefill_rows;
  std::vector<int> rows = {decode_rows};
  if (prefill_rows > decode_rows) rows.push_back(prefill_rows);
  ASSIGN_OR_RETURN(const std::vector<GraphTimes> graphs, MeasureGraphTimes(engine, rows));
  return TimesOfBlocks(graphs.back(), graphs.front(), motion->ends());
}

absl::Status AwaitGraphs(Engine& engine) {
  EngineCore& core = CoreOf(engine);
  ASSIGN_OR_RETURN(GraphMotion* const motion, MotionOf(core));
  const int count = std::min({kAwaitedRows, core.context(), core.runner().row_capacity()});
  return WalkLayers(core, engine.ClockOr(nullptr), count, motion->options().prefill_rows).status();
}

}  // namespace tessera
