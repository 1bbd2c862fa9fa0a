#include "tessera/npu/graph_passes.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tessera {
namespace {

template <typename... Kinds>
bool Has(const Graph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return (std::holds_alternative<Kinds>(op) || ...); });
}

// Some product has this number, a bias or an adapter.
bool HasProductWith(const Graph& graph, int Product::*number) {
  for (const Operator& op : graph.operators) {
    const Linear* const linear = std::get_if<Linear>(&op);
    if (linear == nullptr) continue;
    for (const Product& product : linear->products) {
      if (product.*number != kNone) return true;
    }
  }
  return false;
}

bool FindsScalars(const Graph& graph) { return Has<RmsNorm, Attention, AddBias>(graph) || HasProductWith(graph, &Product::bias); }

bool FindsAdapters(const Graph& graph) { return HasProductWith(graph, &Product::adapter); }

constexpr GraphPass kPasses[] = {
    {"heads split", SplitHeads, Has<Attention, StoreKeyValue>, &GraphForm::split_heads},
    {"linear as 1x1 convolution", MakeConvolutions, Has<Linear>, &GraphForm::convolutions},
    {"scalars folded", FoldScalars, FindsScalars, &GraphForm::folded_scalars},
    {"LoRA-B split", SplitAdapters, FindsAdapters, &GraphForm::split_adapters},
    {"keys transposed", TransposeKeys, Has<Attention>, &GraphForm::transposed_keys},
};

// A pass that finds something to do is done then, or not.
Graph Set(Graph graph, const GraphPass& pass, bool done) {
  if (pass.finds(graph)) graph.form.*pass.done = done;
  return graph;
}

}  // namespace

Graph SplitHeads(Graph graph) { return Set(std::move(graph), kPasses[0], true); }
Graph MakeConvolutions(Graph graph) { return Set(std::move(graph), kPasses[1], true); }
Graph FoldScalars(Graph graph) { return Set(std::move(graph), kPasses[2], true); }
Graph SplitAdapters(Graph graph) { return Set(std::move(graph), kPasses[3], true); }
Graph TransposeKeys(Graph graph) { return Set(std::move(graph), kPasses[4], true); }

absl::Span<const GraphPass> GraphPasses() { return kPasses; }

Graph Untransformed(Graph graph) {
  for (const GraphPass& pass : kPasses) graph = Set(std::move(graph), pass, false);
  return graph;
}

}  // namespace tessera
