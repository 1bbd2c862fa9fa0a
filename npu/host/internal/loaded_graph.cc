#include "tessera/npu/host/internal/loaded_graph.h"

#include <algorithm>

#include "tessera/npu/memory_plan.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

bool IsOfEachRow(const Operator& op) { return !IsBarrierOperator(op) && !std::holds_alternative<Embedding>(op); }

// A matrix in tiles, whose rows are rounded as its scheme says; products that round alike share them.
void AddTiles(const GraphWeight& weight, HostStep& step) {
  step.matrices.push_back(TileMatrix::ShapeOf(weight.spec, *weight.tile));
  const auto known = std::find(step.tile_inputs.begin(), step.tile_inputs.end(), weight.tile->input);
  step.input_of.push_back(static_cast<int>(known - step.tile_inputs.begin()));
  if (known == step.tile_inputs.end()) step.tile_inputs.push_back(weight.tile->input);
}

void AddInner(const Linear& linear, const Product& product, HostStep& step) {
  int inner = product.adapter == kNone ? -1 : step.inners;
  for (size_t i = 0; i < step.inner_of.size(); ++i) {
    if (product.adapter != kNone && linear.products[i].adapter == product.adapter) inner = step.inner_of[i];
  }
  step.inner_of.push_back(inner);
  if (inner == step.inners) ++step.inners;
}

// Adds the matrices of step.shared, if that operator is a Linear.
void AddMatrices(const Graph& graph, HostStep& step) {
  const auto* const product = step.shared < graph.operators.size() ? std::get_if<Linear>(&graph.operators[step.shared]) : nullptr;
  if (product == nullptr) return;
  for (const Product& p : product->products) {
    AddInner(*product, p, step);
    const GraphWeight& weight = graph.weights[p.weight];
    if (weight.tile.has_value()) {
      AddTiles(weight, step);
      continue;
    }
    step.matrices.push_back(PanelShape::Of(weight.spec));
    step.input_of.push_back(-1);
    if (!step.matrices.back().float_activations) (p.fine ? step.rounds_fine : step.rounds) = true;
  }
}

std::vector<HostStep> StepsOf(const Graph& graph) {
  std::vector<HostStep> steps;
  const auto first = graph.operators.begin(), last = graph.operators.end();
  auto begin = first;
  while (begin != last) {
    const auto shared = std::find_if_not(begin, last, IsOfEachRow);
    HostStep step = {.begin = static_cast<size_t>(begin - first), .shared = static_cast<size_t>(shared - first)};
    AddMatrices(graph, step);
    steps.push_back(std::move(step));
    begin = shared == last ? last : shared + 1;
  }
  return steps;
}

// Marks the barriers before Attention: an Attention reads rows of all workers. A Linear and a StoreKeyValue of few rows do, too, but these
// two wait by themselves.
void MarkBarriers(HostGraph& host) {
  const Graph& graph = host.compiled.graph;
  std::vector<bool> fresh(graph.buffers.size());  // Whose rows workers have written, each its own, since the last barrier.
  for (HostStep& step : host.steps) {
    for (size_t i = step.begin; i < step.shared; ++i) {
      for (const BufferId written : AccessOf(graph.operators[i]).writes) fresh[written] = true;
    }
    if (step.shared == graph.operators.size()) return;
    const Operator& shared = graph.operators[step.shared];
    const Access access = AccessOf(shared);
    const bool reads_fresh = std::any_of(access.reads.begin(), access.reads.end(), [&](BufferId read) { return fresh[read]; });
    step.barrier_before_shared = std::holds_alternative<Attention>(shared) && reads_fresh;
    if (IsBarrierOperator(shared)) fresh.assign(fresh.size(), false);
    for (const BufferId written : access.writes) fresh[written] = !IsBarrierOperator(shared);
  }
}

// Is a buffer that `step` writes read only by its operators of each row, and rounded by its Linear?
bool Passes(const Graph& graph, const HostStep& step, BufferId buffer) {
  if (graph.buffers[buffer].kind != BufferKind::kScratch) return false;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Access access = AccessOf(graph.operators[i]);
    const bool reads = std::count(access.reads.begin(), access.reads.end(), buffer) > 0;
    if (!reads || (step.begin <= i && i < step.shared)) continue;
    if (i != step.shared || !std::holds_alternative<Linear>(graph.operators[i])) return false;
    for (size_t m = 0; m < step.matrices.size(); ++m) {
      if (step.input_of[m] < 0 && step.matrices[m].float_activations) return false;   // Others read the rounded rows.
    }
  }
  return true;
}

// Gives every buffer that operators of each row write its place in a worker's own scratch.
void PlacePrivateRows(HostGraph& host) {
  const Graph& graph = host.compiled.graph;
  host.row_written.resize(graph.buffers.size());
  host.passing.resize(graph.buffers.size());
  host.private_offsets.resize(graph.buffers.size());
  for (const HostStep& step : host.steps) {
    for (size_t i = step.begin; i < step.shared; ++i) {
      for (const BufferId written : AccessOf(graph.operators[i]).writes) {
        host.row_written[written] = true;
        host.passing[written] = Passes(graph, step, written);
        host.private_offsets[written] = host.private_bytes;
        host.private_bytes += RowStride(graph.buffers[written].columns) * static_cast<int64_t>(sizeof(float));
      }
    }
  }
}

// REQUIRES: row_written is known.
void NoteReads(HostGraph& host) {
  for (HostStep& step : host.steps) {
    for (size_t i = step.begin; i < step.shared; ++i) {
      for (const BufferId read : AccessOf(host.compiled.graph.operators[i]).reads) {
        if (!host.row_written[read]) step.reads.push_back(read);
      }
    }
  }
}

void NoteWidths(HostGraph& host) {
  const Graph& graph = host.compiled.graph;
  for (const Operator& op : graph.operators) {
    if (const auto* product = std::get_if<Linear>(&op)) {
      host.widest_input = std::max(host.widest_input, graph.buffers[product->x].columns);
    } else if (const auto* attention = std::get_if<Attention>(&op)) {
      host.widest_head = std::max(host.widest_head, graph.buffers[attention->query].columns / attention->heads);
      host.most_heads = std::max<int64_t>(host.most_heads, attention->heads);
    }
  }
  for (const HostStep& step : host.steps) {
    host.tile_inputs = std::max(host.tile_inputs, static_cast<int64_t>(step.tile_inputs.size()));
    host.inners = std::max<int64_t>(host.inners, step.inners);
  }
}

}  // namespace

HostGraph PrepareForHost(const CompiledGraph& compiled) {
  HostGraph host;
  host.compiled = compiled;
  host.steps = StepsOf(compiled.graph);
  int externals = 0;
  for (const GraphBuffer& buffer : compiled.graph.buffers) {
    host.external.push_back(buffer.kind == BufferKind::kScratch ? -1 : externals++);
  }
  MarkBarriers(host);
  PlacePrivateRows(host);
  NoteReads(host);
  NoteWidths(host);
  return host;
}

}  // namespace tessera
