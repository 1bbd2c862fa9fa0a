#include "tessera/npu/modeled/modeled_device.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

namespace {

constexpr double kMostSeconds = 1e6;   // One run or load: virtual time then has room for thousands of years.

int64_t Nanos(double seconds) { return std::llround(seconds * 1e9); }

absl::Status CheckSeconds(absl::string_view what, double seconds) {
  if (seconds >= 0 && seconds <= kMostSeconds) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("modeled device: ", what, ": found ", seconds, " s, expected at most ", kMostSeconds));
}

// Bytes of a graph's weights as the phone has them, in tiles; those of the CPU are no part of a graph.
int64_t TileBytesOf(const Graph& graph) {
  constexpr int64_t kTile = 32;
  int64_t bytes = 0;
  for (const GraphWeight& weight : graph.weights) {
    if (!weight.tile.has_value()) continue;
    bytes += CeilDiv(weight.spec.in_features, kTile) * CeilDiv(weight.spec.out_features, kTile) * TileBytes(*weight.tile);
  }
  return bytes;
}

bool UsesNpu(const GraphCost& cost) {
  double seconds = 0;
  for (const Bound part : {Bound::kMatrix, Bound::kVector, Bound::kDma}) seconds += cost.busy[static_cast<size_t>(part)];
  return seconds > 0;
}

Resource ResourceOf(Bound bound) {
  switch (bound) {
    case Bound::kMatrix: return Resource::kNpu;
    case Bound::kVector: return Resource::kHvx;
    case Bound::kDma: return Resource::kDma;
    case Bound::kCpu:
    case Bound::kCall: return Resource::kCpu;
  }
  return Resource::kCpu;
}

}  // namespace

// A graph of the other device, with what its last run cost.
class ModeledDevice::LoadedOnPhone : public LoadedGraph {
 public:
  LoadedOnPhone(std::unique_ptr<LoadedGraph> numbers, CompiledGraph compiled, int64_t phone_bytes, int64_t ready_ns,
                const Clock& clock)
      : clock(clock), numbers(std::move(numbers)), compiled(std::move(compiled)), phone_bytes(phone_bytes), ready_ns(ready_ns) {}
  int64_t bytes() const override { return phone_bytes + numbers->bytes(); }
  int rows() const override { return numbers->rows(); }
  bool is_ready() const override { return ready_ns <= clock.NowNanos(); }

  const Clock& clock;
  const std::unique_ptr<LoadedGraph> numbers;
  const CompiledGraph compiled;
  const int64_t phone_bytes;
  const int64_t ready_ns;
  int64_t cost_rows = -1, cost_positions = -1;   // That `cost` is for.
  GraphCost cost;
};

ModeledDevice::ModeledDevice(Device& numbers, VirtualClock& clock, Options options)
    : numbers_(numbers), clock_(clock), options_(std::move(options)) {
  CHECK_GE(options_.context, 1);
  CHECK_GE(options_.graphs_per_call, 1);
}

ModeledDevice::~ModeledDevice() = default;

LoadCost ModeledDevice::CostOf(const CompiledGraph& graph) const {
  if (!options_.style.static_graphs) return numbers_.CostOf(graph);
  const DeviceProfile& profile = options_.profile;
  const double share = 1.0 / options_.graphs_per_call;
  if (options_.style.shared_weights) return {.bytes = numbers_.CostOf(graph).bytes, .seconds = profile.switch_seconds * share};
  // What cannot be compiled is refused by Load.
  const absl::StatusOr<CompiledGraph> on_phone = OnPhone(graph);
  const int64_t bytes = on_phone.ok() ? TileBytesOf(on_phone->graph) : 0;
  return {.bytes = bytes + numbers_.CostOf(graph).bytes,
          .seconds = profile.load_seconds * share + static_cast<double>(bytes) / profile.load_bytes_per_second};
}

absl::StatusOr<CompiledGraph> ModeledDevice::OnPhone(const CompiledGraph& compiled) const {
  if (options_.tile_of == nullptr) return compiled;
  Graph graph = compiled.graph;
  for (GraphWeight& weight : graph.weights) {
    if (!weight.vector) weight.tile = options_.tile_of(weight);
  }
  return Compile(std::move(graph), {.row_capacity = compiled.row_capacity});   // Matrices in tiles take their biases.
}

absl::StatusOr<std::unique_ptr<LoadedGraph>> ModeledDevice::Load(const CompiledGraph& graph) {
  const LoadCost cost = CostOf(graph);
  RETURN_IF_ERROR(CheckSeconds("load", cost.seconds));
  ASSIGN_OR_RETURN(CompiledGraph on_phone, OnPhone(graph));
  ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> numbers, numbers_.Load(graph));
  const int64_t begin = std::max(clock_.NowNanos(), loaded_ns_);
  if (options_.style.static_graphs) {
    loaded_ns_ = begin + Nanos(cost.seconds);
    spent_.load_seconds += cost.seconds;
    ++spent_.loads;
    if (options_.timeline != nullptr) options_.timeline->Record({Zone::kLoad, Resource::kFlash, graph.row_capacity, begin, loaded_ns_});
  }
  const int64_t phone_bytes = std::max<int64_t>(0, cost.bytes - numbers_.CostOf(graph).bytes);
  return std::make_unique<LoadedOnPhone>(std::move(numbers), std::move(on_phone), phone_bytes,
                                         options_.style.static_graphs ? loaded_ns_ : begin, clock_);
}

absl::StatusOr<const GraphCost*> ModeledDevice::CostOfRun(LoadedOnPhone& graph, const RunArguments& arguments) const {
  int64_t positions = 1;
  for (const SlotPath& path : arguments.paths) positions = std::max(positions, PathLength(path));
  const bool is_static = options_.style.static_graphs;
  const int64_t rows = is_static ? graph.rows() : arguments.rows;
  if (SeesWholeContext(options_.style)) positions = options_.context;
  const int64_t plain_rows = arguments.rows;
  if (graph.cost_rows == plain_rows && graph.cost_positions == positions) return &graph.cost;
  const CostSetting setting = {.profile = options_.profile,
                               .style = options_.style,
                               .rows = rows,
                               .positions = positions,
                               .plain_rows = plain_rows,
                               .adapter_rank = options_.adapter_rank};
  ASSIGN_OR_RETURN(graph.cost, CostOfGraph(graph.compiled.graph, setting));
  RETURN_IF_ERROR(CheckSeconds("run", graph.cost.seconds));
  graph.cost_rows = plain_rows;
  graph.cost_positions = positions;
  return &graph.cost;
}

// The operators one after the other, each on the parts that work for it from its begin on.
void ModeledDevice::Place(const GraphCost& cost, int64_t begin) {
  if (options_.timeline == nullptr) return;
  double seconds = 0;
  for (size_t i = 0; i < cost.operators.size(); ++i) {
    const OperatorCost& op = cost.operators[i];
    const int64_t from = begin + Nanos(seconds), to = begin + Nanos(seconds + op.seconds);
    for (int part = 0; part < kBounds; ++part) {
      const Bound bound = static_cast<Bound>(part);
      if (op.busy[part] <= 0 || bound == Bound::kCall) continue;
      const int64_t end = std::min(to, from + Nanos(op.busy[part]));
      options_.timeline->Record({Zone::kOperator, ResourceOf(bound), static_cast<int32_t>(i), from, end});
    }
    seconds += op.seconds;
  }
}

absl::Status ModeledDevice::Submit(LoadedGraph& loaded, const RunArguments& arguments) {
  LoadedOnPhone& graph = static_cast<LoadedOnPhone&>(loaded);
  ASSIGN_OR_RETURN(const GraphCost* const cost, CostOfRun(graph, arguments));
  RETURN_IF_ERROR(numbers_.Submit(*graph.numbers, arguments));
  if (arguments.rows == 0) return absl::OkStatus();
  const int64_t now = std::max(clock_.NowNanos(), run_end_ns_);
  const int64_t begin = std::max(now, graph.ready_ns);
  spent_.waited_seconds += static_cast<double>(begin - now) * 1e-9;
  const double call = UsesNpu(*cost) ? CallSeconds(options_.profile, options_.style) / options_.graphs_per_call : 0;
  Place(*cost, begin + Nanos(call));
  run_end_ns_ = begin + Nanos(call + cost->seconds);
  for (int part = 0; part < kBounds; ++part) spent_.seconds[part] += cost->busy[part];
  spent_.seconds[static_cast<size_t>(Bound::kCall)] += call;
  spent_.run_seconds += call + cost->seconds;
  spent_.joules += JoulesOf(*cost, options_.profile) + call * options_.profile.idle_watts;
  spent_.read_bytes += cost->read_bytes;
  ++spent_.runs;
  return absl::OkStatus();
}

absl::Status ModeledDevice::Wait() {
  const absl::Status status = numbers_.Wait();
  clock_.Advance(std::max<int64_t>(0, run_end_ns_ - clock_.NowNanos()));
  return status;
}

}  // namespace tessera
