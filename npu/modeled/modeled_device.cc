#include "tessera/npu/modeled/modeled_device.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/modeled/place_operators.h"

namespace tessera {

namespace {

constexpr double kMostSeconds = 1e6;           // One run or load,
constexpr double kMostVirtualSeconds = 3.2e9;  // All runs and loads together: a third of the clock's range.

absl::Status CheckSeconds(absl::string_view what, double seconds) {
  if (seconds >= 0 && seconds <= kMostSeconds) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("modeled device: ", what, ": found ", seconds, " s, expected at most ", kMostSeconds));
}

// Checks the begin of a run or load, which takes at most kMostSeconds.
absl::Status CheckBegin(absl::string_view what, int64_t begin_ns) {
  if (begin_ns <= NanosOf(kMostVirtualSeconds)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("modeled device: ", what, ": found a begin after ", static_cast<double>(begin_ns) * 1e-9,
                                            " s of virtual time, expected at most ", kMostVirtualSeconds));
}

// Bytes of a graph's weights as the phone has them: matrices in tiles, vectors in FP32. Matrices of the CPU are no part of a graph.
int64_t WeightBytesOf(const Graph& graph) {
  constexpr int64_t kTile = 32;
  int64_t bytes = 0;
  for (const GraphWeight& weight : graph.weights) {
    if (weight.vector) bytes += weight.spec.out_features * static_cast<int64_t>(sizeof(float));
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

}  // namespace

// A graph of the other device, with the cost of the last run.
class ModeledDevice::LoadedOnPhone : public LoadedGraph {
 public:
  LoadedOnPhone(std::unique_ptr<LoadedGraph> numbers, CompiledGraph compiled, int64_t phone_bytes, std::shared_ptr<const OneLoad> load,
                const Clock& clock)
      : clock(clock), numbers(std::move(numbers)), compiled(std::move(compiled)), labels(OperatorLabels(this->compiled.graph)),
        phone_bytes(phone_bytes), load(std::move(load)) {}
  int64_t bytes() const override { return phone_bytes + numbers->bytes(); }
  int rows() const override { return numbers->rows(); }
  bool is_ready() const override { return load->end_ns <= clock.NowNanos(); }

  const Clock& clock;
  const std::unique_ptr<LoadedGraph> numbers;
  const CompiledGraph compiled;
  const std::vector<std::string> labels;
  const int64_t phone_bytes;
  const std::shared_ptr<const OneLoad> load;
  int64_t cost_rows = -1, cost_positions = -1;   // Key of `cost`: rows and positions.
  std::vector<int> cost_ranks;                   // and these adapters.
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
  if (options_.style.shared_weights) {
    return {.bytes = numbers_.CostOf(graph).bytes, .seconds = profile.switch_seconds, .fixed_seconds = profile.switch_seconds};
  }
  // Load rejects graphs that cannot be compiled.
  const absl::StatusOr<CompiledGraph> on_phone = OnPhone(graph);
  const int64_t bytes = on_phone.ok() ? WeightBytesOf(on_phone->graph) : 0;
  return {.bytes = bytes + numbers_.CostOf(graph).bytes,
          .seconds = profile.load_seconds + static_cast<double>(bytes) / profile.load_bytes_per_second,
          .fixed_seconds = profile.load_seconds};
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
  RETURN_IF_ERROR(CheckBegin("load", std::max(clock_.NowNanos(), loaded_ns_)));
  const int64_t phone_bytes = std::max<int64_t>(0, cost.bytes - numbers_.CostOf(graph).bytes);
  return std::make_unique<LoadedOnPhone>(std::move(numbers), std::move(on_phone), phone_bytes, Charge(cost, graph.row_capacity), clock_);
}

// By mailbox there is nothing to load: a graph loaded now can run now.
std::shared_ptr<const ModeledDevice::OneLoad> ModeledDevice::Charge(const LoadCost& cost, int rows) {
  const int64_t now = clock_.NowNanos();
  const bool joins = load_ != nullptr && load_->asked_ns == now;
  if (!joins) {
    const int64_t begin = std::max(now, loaded_ns_);
    load_ = std::make_shared<OneLoad>(OneLoad{.asked_ns = now, .begin_ns = begin, .end_ns = begin});
  }
  if (!options_.style.static_graphs) return load_;
  const double seconds = joins ? cost.seconds - cost.fixed_seconds : cost.seconds;
  const int64_t begin = load_->end_ns;
  load_->seconds += seconds;
  load_->end_ns = loaded_ns_ = load_->begin_ns + NanosOf(load_->seconds);
  spent_.load_seconds += seconds;
  spent_.loads += joins ? 0 : 1;
  if (timeline() != nullptr) timeline()->Record({Zone::kLoad, Resource::kFlash, rows, begin, loaded_ns_});
  return load_;
}

absl::StatusOr<std::vector<int>> ModeledDevice::AdapterRanksOf(const Graph& graph, const RunArguments& arguments) const {
  std::vector<int> ranks(static_cast<size_t>(graph.adapters));
  std::copy_n(options_.adapter_ranks.begin(), std::min(ranks.size(), options_.adapter_ranks.size()), ranks.begin());
  if (arguments.adapters.empty() || options_.masks_adapters) return ranks;
  const AdapterProduct* const first = arguments.adapters[0];
  for (const AdapterProduct* const other : arguments.adapters) {
    if (other == first) continue;
    return absl::InvalidArgumentError("modeled device: found rows with different adapters in one run, expected the same in all: a graph on "
                                      "a phone has one at a time, unless a mask chooses");
  }
  for (size_t i = 0; options_.adapter_ranks.empty() && first != nullptr && i < ranks.size(); ++i) {
    if (first[i].a != nullptr) ranks[i] = first[i].rank;
  }
  return ranks;
}

absl::StatusOr<const GraphCost*> ModeledDevice::CostOfRun(LoadedOnPhone& graph, const RunArguments& arguments) const {
  int64_t positions = 1;
  for (const SlotPath& path : arguments.paths) positions = std::max(positions, PathLength(path));
  const bool is_static = options_.style.static_graphs;
  const int64_t rows = is_static ? graph.rows() : arguments.rows;
  if (SeesWholeContext(options_.style)) positions = options_.context;
  const int64_t plain_rows = arguments.rows;
  ASSIGN_OR_RETURN(std::vector<int> ranks, AdapterRanksOf(graph.compiled.graph, arguments));
  if (graph.cost_rows == plain_rows && graph.cost_positions == positions && graph.cost_ranks == ranks) return &graph.cost;
  const CostSetting setting = {.profile = options_.profile,
                               .style = options_.style,
                               .rows = rows,
                               .positions = positions,
                               .plain_rows = plain_rows,
                               .adapter_ranks = ranks,
                               .masks_adapters = options_.masks_adapters};
  ASSIGN_OR_RETURN(graph.cost, CostOfGraph(graph.compiled.graph, setting));
  RETURN_IF_ERROR(CheckSeconds("run", graph.cost.seconds));
  graph.cost_rows = plain_rows;
  graph.cost_positions = positions;
  graph.cost_ranks = std::move(ranks);
  return &graph.cost;
}

absl::Status ModeledDevice::Submit(LoadedGraph& loaded, const RunArguments& arguments) {
  LoadedOnPhone& graph = static_cast<LoadedOnPhone&>(loaded);
  ASSIGN_OR_RETURN(const GraphCost* const cost, CostOfRun(graph, arguments));
  const int64_t now = std::max(clock_.NowNanos(), run_end_ns_);
  const int64_t begin = std::max(now, graph.load->end_ns);
  RETURN_IF_ERROR(CheckBegin("run", begin));
  RETURN_IF_ERROR(numbers_.Submit(*graph.numbers, arguments));
  if (arguments.rows == 0) return absl::OkStatus();
  SplitLoads();
  spent_.waited_seconds += static_cast<double>(begin - now) * 1e-9;
  const double call = UsesNpu(*cost) ? CallSeconds(options_.profile, options_.style) / options_.graphs_per_call : 0;
  if (timeline() != nullptr) {
    PlaceOperators(*cost, begin + NanosOf(call), *timeline(), {.labels = graph.labels, .layer = arguments.layer, .rows = arguments.rows});
  }
  run_end_ns_ = begin + NanosOf(call) + NanosOf(cost->seconds);
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

void ModeledDevice::SpendOnCpu(double seconds, Zone zone) {
  CHECK_GE(seconds, 0);
  const int64_t begin = clock_.NowNanos();
  // A run after the end of virtual time returns an error.
  const double most = std::max(0.0, kMostVirtualSeconds + kMostSeconds - static_cast<double>(begin) * 1e-9);
  seconds = std::min(seconds, most);
  clock_.Advance(NanosOf(seconds));
  if (timeline() != nullptr) timeline()->Record({zone, Resource::kCpu, 0, begin, clock_.NowNanos()});
  spent_.seconds[static_cast<size_t>(Bound::kCpu)] += seconds;
  spent_.joules += seconds * (options_.profile.idle_watts + options_.profile.cpu_watts);
}

}  // namespace tessera
