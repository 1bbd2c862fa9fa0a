#include "tessera/npu/host/internal/loaded_graph.h"

#include <algorithm>

#include "tessera/quant/panels/panel_format.h"

namespace tessera {
namespace {

WeightShape ShapeOf(const GraphWeight& weight) {
  const MatrixSpec& spec = weight.spec;
  WeightShape shape = {spec.format, PanelFormatOf(spec.format).float_activations, spec.in_features, spec.out_features, 0, 0};
  if (weight.vector) return shape;
  shape.panels = (spec.out_features + PanelFormat::kOutputs - 1) / PanelFormat::kOutputs;
  shape.panel_bytes = PanelBytes(spec.format, spec.in_features);
  return shape;
}

// Operators that all workers share out by something other than rows; all others act on each row alone.
bool SharesWork(const Operator& op) { return std::holds_alternative<Linear>(op) || std::holds_alternative<Attention>(op); }

// A Linear reads them, too, and waits for them by itself.
bool ReadsRowsOfOthers(const Operator& op) { return std::holds_alternative<Attention>(op); }

void NoteWidths(const Operator& op, HostGraph& graph) {
  if (const auto* product = std::get_if<Linear>(&op)) {
    graph.widest_input = std::max(graph.widest_input, graph.compiled.graph.buffers[product->x].columns);
  } else if (const auto* attention = std::get_if<Attention>(&op)) {
    graph.widest_head = std::max(graph.widest_head, graph.compiled.graph.buffers[attention->query].columns / attention->heads);
    graph.most_heads = std::max<int64_t>(graph.most_heads, attention->heads);
  }
}

}  // namespace

HostGraph PrepareForHost(const CompiledGraph& compiled) {
  HostGraph graph;
  graph.compiled = compiled;
  const Graph& source = compiled.graph;
  for (const GraphWeight& weight : source.weights) graph.weights.push_back(ShapeOf(weight));
  int externals = 0;
  for (const GraphBuffer& buffer : source.buffers) graph.external.push_back(buffer.kind == BufferKind::kScratch ? -1 : externals++);
  graph.row_written.resize(source.buffers.size());
  graph.private_offsets.resize(source.buffers.size());
  std::vector<bool> fresh(source.buffers.size());  // Written by row owners since the workers last met.
  for (const Operator& op : source.operators) {
    const Access access = AccessOf(op);
    bool meet = false;
    for (BufferId read : access.reads) meet = meet || (ReadsRowsOfOthers(op) && fresh[read]);
    graph.meet_before.push_back(meet);
    if (meet || SharesWork(op) || std::holds_alternative<StoreKeyValue>(op)) fresh.assign(fresh.size(), false);
    for (BufferId written : access.writes) {
      fresh[written] = !SharesWork(op);
      if (SharesWork(op) || std::holds_alternative<Embedding>(op)) continue;
      graph.row_written[written] = true;
      graph.private_offsets[written] = graph.private_bytes;
      graph.private_bytes += RowStride(source.buffers[written].columns) * static_cast<int64_t>(sizeof(float));
    }
    NoteWidths(op, graph);
  }
  return graph;
}

}  // namespace tessera
