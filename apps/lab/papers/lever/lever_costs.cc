#include "tessera/apps/lab/papers/lever/lever_costs.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/modeled/operator_cost.h"
#include "tessera/quant/tile_scheme.h"
#include "tessera/storage/flash_profile.h"

namespace tessera {
namespace {

constexpr char kRecipe[] = "int4-tile";
constexpr TileScheme kTile = {TileCode::kInt4, TileScales::kTileGroup};
constexpr double kTileWeights = 32 * 32;
constexpr int64_t kDraftPositions = 512;   // The positions that a draft's rows attend to: little compared with its weights.
constexpr int kStates = 3;                 // The layers whose states a head gets (EAGLE-3).

using Graphs = std::vector<std::pair<Graph, int>>;

// Returns the style of all NPU parts.
ExecutionStyle Style() { return {}; }

// Makes a graph of one matrix.
Graph MatrixGraph(const char* name, int64_t inputs, int64_t outputs) {
  Graph graph;
  const BufferId x = graph.AddInput("x", inputs), y = graph.AddOutput("y", outputs);
  const WeightId weight = graph.AddMatrix({name, BlockFormat::kQ4_0, outputs, inputs}, kTile);
  graph.Add(Linear{.x = x, .products = {{.weight = weight, .y = y}}});
  return graph;
}

Graph HeadGraph(const ModelConfig& config) { return MatrixGraph("output.weight", config.width, config.vocabulary); }

double WeightsOf(const Graph& graph) {
  double weights = 0;
  for (const GraphWeight& weight : graph.weights) {
    if (!weight.vector) weights += static_cast<double>(weight.spec.in_features) * static_cast<double>(weight.spec.out_features);
  }
  return weights;
}

double BytesOf(const Graph& graph) {
  double bytes = WeightsOf(graph) * static_cast<double>(TileBytes(kTile)) / kTileWeights;
  for (const GraphWeight& weight : graph.weights) {
    if (weight.vector) bytes += static_cast<double>(weight.spec.out_features) * sizeof(float);
  }
  return bytes;
}

// Makes the layer of the target that a head has: its input is the state of the text and the embedding of the next token.
Graph WideLayer(Graph layer) {
  for (GraphWeight& weight : layer.weights) {
    for (const char* part : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
      if (absl::StrContains(weight.spec.name, part)) weight.spec.in_features *= 2;
    }
  }
  return layer;
}

absl::StatusOr<Graphs> DraftGraphs(const LeverCosts::Question& question, CosterCache& costers) {
  const bool is_head = question.draft == kDraftHead;
  const std::string& shape = is_head ? question.shape : question.draft;
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers.ConfigOf(shape));
  ASSIGN_OR_RETURN(Graph layer, costers.LayerGraphOf(shape, kRecipe));
  if (!is_head) return Graphs{{std::move(layer), static_cast<int>(config->layers.size())}, {HeadGraph(*config), 1}};
  return Graphs{{MatrixGraph("fc.weight", kStates * int64_t{config->width}, config->width), 1},
                {WideLayer(std::move(layer)), 1},
                {MatrixGraph("lm_head.weight", config->width, kDraftVocabulary), 1}};
}

}  // namespace

const char* NameOf(DraftWay way) {
  static constexpr const char* kNames[] = {"single-node NPU", "single-node CPU", "batched"};
  return kNames[static_cast<size_t>(way)];
}

const char* NameOf(HeadWay way) {
  static constexpr const char* kNames[] = {"eager NPU", "on-demand NPU", "on-demand CPU"};
  return kNames[static_cast<size_t>(way)];
}

absl::StatusOr<double> LeverCosts::NpuSeconds(const Graph& graph, int rows, int64_t positions) const {
  ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, {.profile = profile_, .style = Style(), .rows = rows, .positions = positions}));
  return cost.seconds;
}

double LeverCosts::CpuSeconds(const Graph& graph, int rows) const {
  double seconds = std::max(WeightsOf(graph) * rows / profile_.cpu_products_per_second, BytesOf(graph) / profile_.cpu_bytes_per_second);
  for (const Operator& op : graph.operators) {
    if (const auto* attention = std::get_if<Attention>(&op)) {
      const double width = static_cast<double>(graph.buffers[static_cast<size_t>(attention->query)].columns);
      seconds += width * rows * static_cast<double>(kDraftPositions) / profile_.cpu_scores_per_second;
    }
  }
  return seconds;
}

absl::StatusOr<LeverCosts::Table> LeverCosts::OnNpu(const Graphs& graphs) const {
  Table table = {0};
  for (int rows = 1; rows <= kMostRows; ++rows) {
    table.push_back(0);
    for (const auto& [graph, times] : graphs) {
      ASSIGN_OR_RETURN(const double seconds, NpuSeconds(graph, rows, kDraftPositions));
      table.back() += times * seconds;
    }
  }
  return table;
}

LeverCosts::Table LeverCosts::OnCpu(const Graphs& graphs) const {
  Table table = {0};
  for (int rows = 1; rows <= kMostRows; ++rows) {
    table.push_back(0);
    for (const auto& [graph, times] : graphs) table.back() += times * CpuSeconds(graph, rows);
  }
  return table;
}

absl::StatusOr<LeverCosts> LeverCosts::Of(const Question& question, CosterCache& costers) {
  ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers.ProfileOf(question.device));
  ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(question.flash));
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers.ConfigOf(question.shape));
  LeverCosts costs(*profile);
  costs.flash_bytes_per_second_ = flash.Best().bytes_per_second;
  costs.call_seconds_ = CallSeconds(*profile, Style());
  costs.layers_ = static_cast<int>(config->layers.size());
  ASSIGN_OR_RETURN(costs.layer_, costers.LayerGraphOf(question.shape, kRecipe));
  costs.layer_bytes_ = static_cast<int64_t>(BytesOf(costs.layer_));
  costs.draft_is_head_ = question.draft == kDraftHead;
  const Graphs head = {{HeadGraph(*config), 1}};
  ASSIGN_OR_RETURN(const Graphs draft, DraftGraphs(question, costers));
  ASSIGN_OR_RETURN(costs.head_npu_, costs.OnNpu(head));
  ASSIGN_OR_RETURN(costs.draft_npu_, costs.OnNpu(draft));
  costs.head_cpu_ = costs.OnCpu(head);
  costs.draft_cpu_ = costs.OnCpu(draft);
  return costs;
}

double LeverCosts::At(const Table& table, int rows) { return table[static_cast<size_t>(std::clamp(rows, 0, kMostRows))]; }

absl::StatusOr<double> LeverCosts::LayerSeconds(int rows, int64_t positions) const {
  const std::pair<int, int64_t> key = {rows, AlignUp(std::max<int64_t>(positions, 1), kPositions)};
  const auto found = layer_seconds_.find(key);
  if (found != layer_seconds_.end()) return found->second;
  ASSIGN_OR_RETURN(const double seconds, NpuSeconds(layer_, rows, key.second));
  layer_seconds_[key] = seconds;
  return seconds;
}

double LeverCosts::HeadSeconds(HeadWay way, int rows, int reached) const {
  switch (way) {
    case HeadWay::kEagerNpu: return At(head_npu_, rows);   // In the call of the pass.
    case HeadWay::kOnDemandNpu: return reached * (At(head_npu_, 1) + call_seconds_);
    case HeadWay::kOnDemandCpu: return reached * At(head_cpu_, 1);
  }
  return 0;
}

double LeverCosts::DraftSeconds(DraftWay way, int nodes, int text_rows) const {
  const int first = 1 + text_rows, all = nodes + text_rows;
  switch (way) {
    case DraftWay::kSingleNpu: return At(draft_npu_, first) + (nodes - 1) * At(draft_npu_, 1) + nodes * call_seconds_;
    case DraftWay::kSingleCpu: return At(draft_cpu_, first) + (nodes - 1) * At(draft_cpu_, 1);
    case DraftWay::kBatched: return std::min(At(draft_npu_, all) + call_seconds_, At(draft_cpu_, all));
  }
  return 0;
}

}  // namespace tessera
