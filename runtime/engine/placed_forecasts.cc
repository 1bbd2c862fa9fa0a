#include "tessera/runtime/engine/placed_forecasts.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/compiler.h"
#include "tessera/npu/device.h"

namespace tessera {
namespace {

absl::Status CheckShape(const Forecasts& forecasts, const ModelConfig& config) {
  const auto check = [](absl::string_view what, int64_t found, int64_t expected) -> absl::Status {
    if (found == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("forecasts: ", what, ": found ", found, ", expected ", expected, ", the model's"));
  };
  RETURN_IF_ERROR(check("layers", forecasts.layers(), static_cast<int64_t>(config.layers.size())));
  RETURN_IF_ERROR(check("numbers of a key", forecasts.columns(), int64_t{config.kv_heads} * config.head_size));
  return check("width", forecasts.width(), config.width);
}

absl::Status CheckGraphsStay(const EngineCore& core) {
  if (core.motion() == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("forecasts: found an engine that switches graphs, expected one with the graphs it began with");
}

// Returns a graph that stores rows of keys and values from its inputs.
absl::StatusOr<CompiledGraph> StoringGraph(int columns, int rows) {
  Graph graph;
  const BufferId key = graph.AddInput("key", columns), value = graph.AddInput("value", columns);
  graph.Add(StoreKeyValue{.key = key, .value = value, .layer = 0});
  return Compile(std::move(graph), {.row_capacity = rows});
}

std::vector<int32_t> SlotsOf(SlotPath path) {
  std::vector<int32_t> slots;
  for (const SlotRange& range : path) {
    for (int i = 0; i < range.count; ++i) slots.push_back(range.begin + i);
  }
  return slots;
}

}  // namespace

PlacedForecasts::PlacedForecasts(std::shared_ptr<EngineCore> core, std::shared_ptr<const Forecasts> forecasts)
    : core_(std::move(core)), forecasts_(std::move(forecasts)), sequence_(core_->cache().NewSequence()) {}

// Releases the slots, unless memory ran out in a call: then the cache's state is undefined.
PlacedForecasts::~PlacedForecasts() {
  const EngineCore::Hold hold = core_->AwaitHold();
  if (core_->health().ok()) core_->cache().Release(sequence_);
}

absl::StatusOr<std::shared_ptr<const PlacedForecasts>> PlacedForecasts::Place(std::shared_ptr<EngineCore> core,
                                                                              std::shared_ptr<const Forecasts> forecasts) {
  CHECK(forecasts != nullptr) << "no forecasts";
  if (!core->is_loaded()) return absl::FailedPreconditionError("forecasts: found no weights, expected LoadWeights before");
  RETURN_IF_ERROR(CheckGraphsStay(*core));
  RETURN_IF_ERROR(CheckShape(*forecasts, core->model().config()));
  return core->Guarded([&]() -> absl::StatusOr<std::shared_ptr<const PlacedForecasts>> {
    std::shared_ptr<PlacedForecasts> placed;
    absl::Status stored;
    {
      ASSIGN_OR_RETURN(const EngineCore::Hold hold, core->AwaitTurn());
      placed.reset(new PlacedForecasts(core, std::move(forecasts)));
      stored = placed->Store();
    }
    RETURN_IF_ERROR(stored);   // `placed` ends after this, where the core is not held.
    return placed;
  });
}

absl::Status PlacedForecasts::Store() {
  const int slots = forecasts_->sizes().slots, columns = forecasts_->columns();
  RETURN_IF_ERROR(core_->MakeRoom(slots));
  KvCache& cache = core_->cache();
  RETURN_IF_ERROR(cache.Extend(sequence_, slots));
  ASSIGN_OR_RETURN(const CompiledGraph compiled, StoringGraph(columns, slots));
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadedGraph> graph, core_->device().Load(compiled));
  const KvCache::Paths paths = Prefix();
  for (int layer = 0; layer < forecasts_->layers(); ++layer) {
    std::vector<float> keys(forecasts_->keys(layer).begin(), forecasts_->keys(layer).end());
    std::vector<float> values(forecasts_->values(layer).begin(), forecasts_->values(layer).end());
    const std::vector<int32_t> into = SlotsOf(paths[static_cast<size_t>(cache.GroupOf(layer))]);
    RunArguments arguments = {.rows = slots, .buffers = {{keys.data(), columns}, {values.data(), columns}}, .slots = into,
                              .kv = cache.View(layer)};
    RETURN_IF_ERROR(core_->device().Run(*graph, arguments));
  }
  return absl::OkStatus();
}

absl::Status PlacedForecasts::CheckFits(const EngineCore& core) const {
  if (core_.get() != &core) {
    return absl::InvalidArgumentError("forecasts: found those in another engine's cache, expected this one's");
  }
  return CheckGraphsStay(core);
}

}  // namespace tessera
