#include "tessera/npu/host/internal/loaded_graph.h"

#include <algorithm>

#include "tessera/quant/internal/panels/panel_format.h"

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

// Operators that workers share out by something other than rows, whatever their number.
bool SharesWork(const Operator& op) { return std::holds_alternative<Linear>(op) || std::holds_alternative<Attention>(op); }

// A Linear reads them, too, and a StoreKeyValue of few rows; they wait by themselves.
bool ReadsRowsOfOthers(const Operator& op) { return std::holds_alternative<Attention>(op); }

bool OfEachRow(const Operator& op) {
  return !SharesWork(op) && !std::holds_alternative<StoreKeyValue>(op) && !std::holds_alternative<Embedding>(op);
}

// The chain of operators of each row that begins with each one, empty where there is none.
std::vector<size_t> ChainEnds(const std::vector<Operator>& operators) {
  std::vector<size_t> ends(operators.size());
  for (size_t i = operators.size(); i-- > 0;) {
    ends[i] = !OfEachRow(operators[i]) ? i : i + 1 < operators.size() ? ends[i + 1] : i + 1;
  }
  return ends;
}

// Is a buffer read only within the chain that ends at `end`, and rounded by the Linear there?
bool Passes(const HostGraph& host, BufferId buffer, size_t end) {
  const Graph& graph = host.compiled.graph;
  if (graph.buffers[buffer].kind != BufferKind::kScratch) return false;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Access access = AccessOf(graph.operators[i]);
    const bool reads = std::count(access.reads.begin(), access.reads.end(), buffer) > 0;
    if (!reads || (i < end && host.chain_end[i] == end)) continue;
    const auto* const product = std::get_if<Linear>(&graph.operators[i]);
    if (i != end || product == nullptr) return false;
    for (const Product& p : product->products) {
      if (host.weights[p.weight].float_activations) return false;
    }
  }
  return true;
}

// Per operator: the buffers that the chain that begins with it reads, but did not write by itself or one before it.
std::vector<std::vector<BufferId>> ChainReads(const HostGraph& graph) {
  const std::vector<Operator>& operators = graph.compiled.graph.operators;
  std::vector<std::vector<BufferId>> reads(operators.size());
  for (size_t i = 0; i < operators.size(); ++i) {
    for (size_t k = i; k < graph.chain_end[i]; ++k) {
      for (const BufferId read : AccessOf(operators[k]).reads) {
        if (!graph.row_written[read]) reads[i].push_back(read);
      }
    }
  }
  return reads;
}

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
  graph.chain_end = ChainEnds(source.operators);
  graph.row_written.resize(source.buffers.size());
  graph.passing.resize(source.buffers.size());
  graph.private_offsets.resize(source.buffers.size());
  std::vector<bool> fresh(source.buffers.size());  // Written by row owners since the workers last met.
  for (size_t i = 0; i < source.operators.size(); ++i) {
    const Operator& op = source.operators[i];
    const Access access = AccessOf(op);
    bool meet = false;
    for (BufferId read : access.reads) meet = meet || (ReadsRowsOfOthers(op) && fresh[read]);
    graph.meet_before.push_back(meet);
    if (meet || SharesWork(op) || std::holds_alternative<StoreKeyValue>(op)) fresh.assign(fresh.size(), false);
    for (BufferId written : access.writes) {
      fresh[written] = !SharesWork(op);
      if (SharesWork(op) || std::holds_alternative<Embedding>(op)) continue;
      graph.row_written[written] = true;
      graph.passing[written] = Passes(graph, written, graph.chain_end[i]);
      graph.private_offsets[written] = graph.private_bytes;
      graph.private_bytes += RowStride(source.buffers[written].columns) * static_cast<int64_t>(sizeof(float));
    }
    NoteWidths(op, graph);
  }
  graph.chain_reads = ChainReads(graph);
  return graph;
}

}  // namespace tessera
