#include "tessera/model/pass_cost.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/npu/device.h"
#include "tessera/npu/fold_biases.h"

namespace tessera {

namespace {

absl::Status CheckOption(absl::string_view name, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cost of passes: ", name, ": found ", found, ", expected ", least, " to ", most));
}

void AddWork(const OperatorCost& cost, int times, OperatorCost& sum) {
  sum.seconds += cost.seconds * times;
  sum.read_bytes += cost.read_bytes * times;
  for (int part = 0; part < kBounds; ++part) sum.busy[part] += cost.busy[part] * times;
}

Bound MostOf(const double (&bounded)[kBounds]) {
  return static_cast<Bound>(std::max_element(std::begin(bounded), std::end(bounded)) - std::begin(bounded));
}

void AddCost(const OperatorCost& cost, int times, KindCost& sum) {
  AddWork(cost, times, sum);
  sum.bounded[static_cast<size_t>(cost.bound)] += cost.seconds * times;
  sum.bound = MostOf(sum.bounded);
}

void AddKind(const KindCost& cost, KindCost& sum) {
  AddWork(cost, 1, sum);
  for (int bound = 0; bound < kBounds; ++bound) sum.bounded[bound] += cost.bounded[bound];
  sum.bound = MostOf(sum.bounded);
}

void SetBound(PassCost& pass) {
  double bounded[kBounds] = {};
  bounded[static_cast<size_t>(Bound::kCall)] = pass.call_seconds;
  for (const auto& [label, cost] : pass.operators) {
    for (int bound = 0; bound < kBounds; ++bound) bounded[bound] += cost.bounded[bound];
  }
  pass.bound = MostOf(bounded);
}

struct PlacedBytes { int64_t bytes = 0; bool on_npu = false; };

// Returns the bytes of a matrix: in tiles on the NPU; without tiles in the block format on the CPU, or in codes of 8 bits on the NPU.
PlacedBytes BytesOnPhone(const GraphWeight& weight, const ExecutionStyle& style) {
  constexpr int64_t kTile = 32;
  const int64_t tiles = CeilDiv(weight.spec.in_features, kTile) * CeilDiv(weight.spec.out_features, kTile);
  if (weight.tile.has_value()) return {.bytes = tiles * TileBytes(*weight.tile), .on_npu = true};
  if (style.plain_matrices == ComputePlace::kNpu) return {.bytes = tiles * kTile * kTile, .on_npu = true};
  const BlockFormatInfo& format = InfoOf(weight.spec.format);
  return {.bytes = weight.spec.in_features / format.values_per_block * format.bytes_per_block * weight.spec.out_features, .on_npu = false};
}

}  // namespace

absl::StatusOr<PassCoster> PassCoster::Create(const ModelConfig& config, const WeightLayout& layout, const WeightRecipe& recipe,
                                              const DeviceProfile& profile, const Options& options) {
  RETURN_IF_ERROR(CheckOption("context", options.context, 1, int64_t{1} << 24));
  RETURN_IF_ERROR(CheckOption("most rows", options.most_rows, 1, int64_t{1} << 20));
  RETURN_IF_ERROR(CheckOption("calls per pass", options.calls_per_pass, 1, 1 << 16));
  RETURN_IF_ERROR(CheckOption("adapter rank", options.adapter_rank, 0, kLargestAdapterRank));
  PassCoster coster(profile, options);
  std::string last;
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    Graph graph = coster.Shape(BuildLayerGraph(config, layout, layer).graph, config, recipe);
    std::string text = GraphText(graph);
    if (text == last) {
      ++coster.layers_.back().second;
    } else {
      coster.layers_.emplace_back(std::move(graph), 1);
      last = std::move(text);
    }
  }
  std::vector<BlockGraph> others = BuildHeadGraphs(config, layout);
  others.insert(others.begin(), BuildOutputNormGraph(config, layout));
  for (BlockGraph& other : others) coster.others_.push_back(coster.Shape(std::move(other.graph), config, recipe));
  coster.MeasureMemory(config, layout);
  RETURN_IF_ERROR(coster.Of({}).status());
  return coster;
}

Graph PassCoster::Shape(Graph graph, const ModelConfig& config, const WeightRecipe& recipe) {
  for (GraphWeight& weight : graph.weights) {
    if (weight.vector) {
      memory_.weights += weight.spec.out_features * 4;
      continue;
    }
    const WeightForm form = recipe.FormOf(weight.spec.name, config.tied_head, weight.spec.format, weight.spec.in_features);
    weight.spec.format = form.format;
    weight.tile = form.tile;
    const PlacedBytes placed = BytesOnPhone(weight, options_.style);
    (placed.on_npu ? memory_.weights : memory_.cpu_weights) += placed.bytes;
    bits_ += 8.0 * static_cast<double>(placed.bytes);
    weights_ += static_cast<double>(weight.spec.in_features) * static_cast<double>(weight.spec.out_features);
  }
  return FoldBiases(std::move(graph));
}

void PassCoster::MeasureMemory(const ModelConfig& config, const WeightLayout& layout) {
  // The embedding table is on the CPU. If the table is also the head, and the CPU computes the head, the table has been counted.
  if (!config.tied_head || options_.style.plain_matrices == ComputePlace::kNpu) {
    for (const TensorPart& part : layout.Parts(EmbeddingNeed(config).name)) memory_.cpu_weights += part.bytes;
  }
  const double numbers = 2.0 * config.kv_heads * config.head_size * static_cast<double>(config.layers.size());
  memory_.keys_and_values = static_cast<int64_t>(numbers * static_cast<double>(options_.context) * options_.style.key_value_bytes);
  // FP32 rows of the widest buffers that live at once: the residual twice, gate, up and their product.
  memory_.activations = options_.most_rows * (2 * int64_t{config.width} + 3 * int64_t{config.feed_forward}) * 4;
}

CostSetting PassCoster::SettingOf(const PassShape& shape) const {
  return {.profile = profile_,
          .style = options_.style,
          .rows = shape.rows,
          .positions = SeesWholeContext(options_.style) ? options_.context : shape.positions,
          .attention_rows = shape.attention_rows,
          .adapter_rank = options_.adapter_rank,
          .masks_adapters = options_.masks_adapters,
          .arrangement = options_.arrangement,
          .exp = options_.exp};
}

CostSetting PassCoster::HeadSettingOf(const PassShape& shape) const {
  PassShape head = shape;
  head.rows = std::max<int64_t>(shape.logit_rows, 1);
  return SettingOf(head);
}

absl::Status PassCoster::Add(const Graph& graph, const CostSetting& setting, int times, PassCost& pass, double& seconds) const {
  ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, setting));
  seconds += cost.seconds * times;
  pass.read_bytes += cost.read_bytes * times;
  pass.joules += JoulesOf(cost, profile_) * times;
  for (int part = 0; part < kBounds; ++part) pass.busy[part] += cost.busy[part] * times;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    AddCost(cost.operators[i], times, pass.operators[OperatorLabel(graph, graph.operators[i])]);
  }
  return absl::OkStatus();
}

absl::StatusOr<PassCost> PassCoster::Of(const PassShape& shape) const {
  PassCost pass;
  const CostSetting setting = SettingOf(shape);
  for (const auto& [graph, times] : layers_) RETURN_IF_ERROR(Add(graph, setting, times, pass, pass.layer_seconds));
  const CostSetting head = HeadSettingOf(shape);
  if (shape.logit_rows > 0) {
    for (const Graph& graph : others_) RETURN_IF_ERROR(Add(graph, head, 1, pass, pass.head_seconds));
  }
  pass.call_seconds = CallSeconds(profile_, options_.style) * options_.calls_per_pass;
  pass.busy[static_cast<size_t>(Bound::kCall)] += pass.call_seconds;
  pass.joules += pass.call_seconds * profile_.idle_watts;
  pass.seconds = pass.layer_seconds + pass.head_seconds + pass.call_seconds;
  SetBound(pass);
  return pass;
}

absl::Status PassCoster::Walk(const PassShape& shape,
                             absl::FunctionRef<void(int layer, const Graph& graph, const GraphCost& cost)> visit) const {
  const CostSetting setting = SettingOf(shape), head = HeadSettingOf(shape);
  int layer = 0;
  for (const auto& [graph, times] : layers_) {
    ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, setting));
    for (int i = 0; i < times; ++i) visit(layer++, graph, cost);
  }
  if (shape.logit_rows == 0) return absl::OkStatus();
  for (const Graph& graph : others_) {
    ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, head));
    visit(layer, graph, cost);
  }
  return absl::OkStatus();
}

absl::StatusOr<PassCost> PassCoster::OfPrompt(int64_t tokens, int64_t chunk_rows) const {
  RETURN_IF_ERROR(CheckOption("prompt", tokens, 1, int64_t{1} << 24));
  RETURN_IF_ERROR(CheckOption("rows of a chunk", chunk_rows, 1, int64_t{1} << 20));
  PassCost sum;
  for (int64_t done = 0; done < tokens; done += chunk_rows) {
    const int64_t rows = options_.style.static_graphs ? chunk_rows : std::min(chunk_rows, tokens - done);
    const bool last = done + chunk_rows >= tokens;
    ASSIGN_OR_RETURN(const PassCost pass, Of({.rows = rows, .positions = std::min(done + rows, tokens), .logit_rows = last ? 1 : 0}));
    sum.seconds += pass.seconds;
    sum.layer_seconds += pass.layer_seconds;
    sum.head_seconds += pass.head_seconds;
    sum.call_seconds += pass.call_seconds;
    sum.read_bytes += pass.read_bytes;
    sum.joules += pass.joules;
    for (int part = 0; part < kBounds; ++part) sum.busy[part] += pass.busy[part];
    for (const auto& [label, cost] : pass.operators) AddKind(cost, sum.operators[label]);
  }
  SetBound(sum);
  return sum;
}

PassCoster PassCoster::InForm(const GraphForm& form) const {
  PassCoster coster = *this;
  for (auto& [graph, times] : coster.layers_) graph.form = form;
  for (Graph& graph : coster.others_) graph.form = form;
  return coster;
}

PassCoster PassCoster::WithAdapters(int rank, bool masked) const {
  PassCoster coster = *this;
  coster.options_.adapter_rank = rank;
  coster.options_.masks_adapters = masked;
  return coster;
}

int64_t PassCoster::sessions() const {
  const int64_t bytes = memory_.weights + memory_.keys_and_values + memory_.activations;
  return CeilDiv(bytes, std::max<int64_t>(1, static_cast<int64_t>(profile_.session_bytes)));
}

double PassCoster::LoadSeconds() const {
  return profile_.load_seconds + static_cast<double>(memory_.weights) / profile_.load_bytes_per_second;
}

}  // namespace tessera
