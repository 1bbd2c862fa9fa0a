#include "tessera/npu/compiler.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"
#include "tessera/npu/fold_biases.h"
#include "tessera/npu/internal/graph_check.h"
#include "tessera/npu/memory_plan.h"

namespace tessera {
namespace {

constexpr int kMaxRowCapacity = 65536;

absl::Status AddWeightBytes(const Graph& graph, ArgumentNeeds& needs) {
  for (const GraphWeight& weight : graph.weights) {
    ASSIGN_OR_RETURN(const int64_t packed, WeightBytes(weight, WeightEncoding::kTiles));
    ASSIGN_OR_RETURN(const int64_t floats, WeightBytes(weight, WeightEncoding::kFloat32));
    needs.packed_bytes.push_back(packed);
    needs.tiles |= weight.tile.has_value();
    needs.float_bytes.push_back(floats);
  }
  return absl::OkStatus();
}

// REQUIRES: CheckGraph(graph) is OK.
absl::StatusOr<ArgumentNeeds> NeedsOf(const Graph& graph) {
  ArgumentNeeds needs;
  RETURN_IF_ERROR(AddWeightBytes(graph, needs));
  for (size_t id = 0; id < graph.buffers.size(); ++id) {
    if (graph.buffers[id].kind != BufferKind::kScratch) needs.external.push_back(static_cast<BufferId>(id));
  }
  for (const Operator& op : graph.operators) {
    if (std::holds_alternative<Embedding>(op)) needs.tokens = true;
    if (const Rope* rope = std::get_if<Rope>(&op)) needs.rope_tables = std::max(needs.rope_tables, rope->table + 1);
    if (const StoreKeyValue* store = std::get_if<StoreKeyValue>(&op)) needs.key_columns = graph.buffers[store->key].columns;
    if (const Attention* attention = std::get_if<Attention>(&op)) {
      needs.head_size = graph.buffers[attention->query].columns / attention->heads;
      needs.query_heads = std::gcd(needs.query_heads, static_cast<int64_t>(attention->heads));
      needs.longest_window = std::max(needs.longest_window, attention->window > 0 ? attention->window : kAllPositions);
    }
  }
  return needs;
}

}  // namespace

int64_t DescriptionBytes(const CompiledGraph& compiled) {
  const Graph& graph = compiled.graph;
  return static_cast<int64_t>(compiled.text.size() + graph.operators.size() * sizeof(Operator) +
                              graph.weights.size() * sizeof(GraphWeight) + graph.buffers.size() * sizeof(GraphBuffer));
}

absl::StatusOr<CompiledGraph> Compile(Graph graph, const CompileOptions& options) {
  if (options.row_capacity < 1 || options.row_capacity > kMaxRowCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("row_capacity: found ", options.row_capacity, ", expected 1 to ", kMaxRowCapacity));
  }
  RETURN_IF_ERROR(CheckGraph(graph));
  graph = FoldBiases(std::move(graph));
  ASSIGN_OR_RETURN(ArgumentNeeds needs, NeedsOf(graph));
  ASSIGN_OR_RETURN(const std::vector<BufferLife> lives, LivesOf(graph, options.row_capacity));
  ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(lives));
  std::string text = GraphText(graph);
  return CompiledGraph{.graph = std::move(graph),
                       .text = std::move(text),
                       .row_capacity = options.row_capacity,
                       .offsets = std::move(plan.offsets),
                       .arena_bytes = plan.arena_bytes,
                       .needs = std::move(needs)};
}

}  // namespace tessera
