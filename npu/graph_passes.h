// The one-for-all paper's transformations of graphs for a phone's NPU (section 3.3 and table 10). Each transformation is a separate pass.
//
//   graph = Untransformed(std::move(graph));                                              // as it is exported
//   for (const GraphPass& pass : GraphPasses()) graph = pass.apply(std::move(graph));     // as it was
//
// A pass sets its flag in Graph::form and changes nothing else, so a graph has the same bits before and after. operator_cost.h charges for
// passes that are not done: separate operators, and numbers that are written once more. Graphs from model/block_graph.h have all passes
// done, because the published times are times of transformed graphs.
//
// A pass returns the graph unchanged if there is nothing to do; applying a pass twice equals applying it once. A change that alters bits is
// not a pass. For example, a norm's weight does not go into the matrix behind the norm, because that matrix would be quantized anew. The
// weight becomes part of the norm. Biases that the matrix unit adds belong to fold_biases.h, which has its own bits.
//
// Threads: thread-safe (pure functions).
#pragma once

#include "absl/types/span.h"
#include "tessera/npu/graph.h"

namespace tessera {

// Splits attention of many heads into one operator per head; queries, keys and values come by heads. Applies to Attention and
// StoreKeyValue.
Graph SplitHeads(Graph graph);

// Turns products into 1x1 convolutions, which read and write tiles. Applies to Linear.
Graph MakeConvolutions(Graph graph);

// Merges multiplications by constants and additions of constants into neighbouring operators. A norm's weight goes into the norm,
// attention's scale into the query's product, a bias into its product. Applies to RmsNorm, Attention, AddBias and products with a bias.
Graph FoldScalars(Graph graph);

// Splits the second matrix of an adapter, B, into one matrix per head. By the model the time stays equal, since the same tiles are read and
// multiplied; 004 splits B for quantized adapters. Applies to products with an adapter.
Graph SplitAdapters(Graph graph);

// Stores keys in the layout that the product of queries and keys reads. Applies to Attention.
Graph TransposeKeys(Graph graph);

struct GraphPass {
  const char* name;                 // For display: "heads split".
  Graph (*apply)(Graph);
  bool (*finds)(const Graph&);      // True if the graph has operators for the pass, whether the pass is done or not.
  bool GraphForm::*done;            // The flag that the pass sets.
};

// Returns all five passes in 004's order: the order of the paper's text, then the order of the paper's table.
absl::Span<const GraphPass> GraphPasses();

// Returns the graph with every pass undone that applies to the graph (GraphPass::finds).
Graph Untransformed(Graph graph);

}  // namespace tessera
