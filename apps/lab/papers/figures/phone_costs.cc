#include "tessera/apps/lab/papers/figures/phone_costs.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/block_graph.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/runtime/plan/phone_report.h"

namespace tessera {

namespace {

constexpr double kKeyValueBytes = 2;   // Each number that the CPU's attention reads.

double WeightsOf(const Graph& graph) {
  double weights = 0;
  for (const GraphWeight& weight : graph.weights) {
    if (!weight.vector) weights += static_cast<double>(weight.spec.in_features) * static_cast<double>(weight.spec.out_features);
  }
  return weights;
}

}  // namespace

PhoneCosts::PhoneCosts(const DeviceProfile& profile, const ModelConfig& config, PassCoster coster)
    : profile_(profile), coster_(std::move(coster)), layers_(static_cast<int>(config.layers.size())), heads_(config.heads),
      head_size_(config.head_size), key_value_numbers_(2.0 * config.kv_heads * config.head_size) {}

absl::StatusOr<std::unique_ptr<PhoneCosts>> PhoneCosts::Open(const DeviceProfile& profile, const std::string& shape, int most_rows) {
  ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName("unshared"));
  ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse(RecipeOfStyle(style)));
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> gguf, OpenKnownShape(shape));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(*gguf));
  ASSIGN_OR_RETURN(const WeightLayout layout, WeightLayout::Plan(*gguf, config, WeightEncoding::kPacked));
  const PassCoster::Options options = {.style = style, .context = kPhoneContext, .most_rows = most_rows};
  ASSIGN_OR_RETURN(PassCoster coster, PassCoster::Create(config, layout, recipe, profile, options));
  std::unique_ptr<PhoneCosts> costs(new PhoneCosts(profile, config, std::move(coster)));
  for (int layer = 0; layer < costs->layers_; ++layer) costs->layer_weights_ += WeightsOf(BuildLayerGraph(config, layout, layer).graph);
  for (const BlockGraph& head : BuildHeadGraphs(config, layout)) {
    for (const TensorPart& part : head.parts) costs->head_bytes_ += part.bytes;
  }
  return costs;
}

RequestCosts PhoneCosts::costs() const {
  return {.layers = layers_,
          .call_seconds = profile_.call_seconds,
          .load_seconds = profile_.load_seconds,
          .load_seconds_per_layer = static_cast<double>(memory().weights) / layers_ / profile_.load_bytes_per_second,
          .draft_seconds = profile_.draft_seconds,
          .calibrate_seconds = profile_.calibrate_seconds,
          .idle_watts = profile_.idle_watts,
          .cpu_watts = profile_.cpu_watts,
          .flash_watts = profile_.flash_watts,
          .layer_run = [this](int rows, int64_t positions) { return LayerRun(rows, rows, positions); },
          .head_run = [this](int rows) { return HeadRun(rows); },
          .cpu_pass = [this](int rows, int64_t positions) { return CpuPass(rows, positions); }};
}

RequestCosts PhoneCosts::CostsOfHeldRows() const {
  RequestCosts held = costs();
  held.held_run = [this](int rows, int held_rows, int64_t positions) { return LayerRun(rows, held_rows, positions); };
  return held;
}

absl::StatusOr<RunCost> PhoneCosts::LayerRun(int rows, int held, int64_t positions) const {
  const std::tuple<int, int, int64_t> key = {rows, held, positions};
  const auto found = layer_runs_.find(key);
  if (found != layer_runs_.end()) return found->second;
  ASSIGN_OR_RETURN(const PassCost pass,
                   coster_.Of({.rows = rows, .positions = positions, .logit_rows = 0, .attention_rows = held}));
  const RunCost cost = {pass.layer_seconds, pass.joules - pass.call_seconds * profile_.idle_watts};
  layer_runs_[key] = cost;
  return cost;
}

absl::StatusOr<RunCost> PhoneCosts::HeadRun(int rows) const {
  const auto found = head_runs_.find(rows);
  if (found != head_runs_.end()) return found->second;
  ASSIGN_OR_RETURN(const PassCost with, coster_.Of({.logit_rows = rows}));
  ASSIGN_OR_RETURN(const PassCost without, coster_.Of({.logit_rows = 0}));
  const RunCost cost = {with.head_seconds, std::max(0.0, with.joules - without.joules)};
  head_runs_[rows] = cost;
  return cost;
}

absl::StatusOr<RunCost> PhoneCosts::CpuPass(int rows, int64_t positions) const {
  const double products = std::max(layer_weights_ * rows / profile_.cpu_products_per_second,
                                   static_cast<double>(cpu_copy_bytes()) / profile_.cpu_bytes_per_second);
  const double scores = heads_ * rows * static_cast<double>(positions) * head_size_ / profile_.cpu_scores_per_second;
  const double reading = key_value_numbers_ * kKeyValueBytes * static_cast<double>(positions) / profile_.cpu_bytes_per_second;
  const double seconds = products + layers_ * std::max(scores, reading);
  ASSIGN_OR_RETURN(const RunCost head, HeadRun(rows));
  return RunCost{seconds, seconds * (profile_.idle_watts + profile_.cpu_watts)} + head;
}

}  // namespace tessera
