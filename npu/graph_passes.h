// Paper 004's transformations of graphs for a phone's NPU (section 3.3 and table 10), each a pass by itself.
//
//   graph = Untransformed(std::move(graph));                                              // as it is exported
//   for (const GraphPass& pass : GraphPasses()) graph = pass.apply(std::move(graph));     // as it was
//
// A pass says in Graph::form that it was done, and changes nothing else, so a graph has the same bits before and after it. What it saves
// on a phone is what operator_cost.h charges where it was not done: operators of their own, and numbers that are written once more. Graphs
// come from model/block_graph.h with all of them done, as the published times are those of transformed graphs.
//
// A pass that finds nothing to do in a graph gives it back as it was; a second time changes nothing. What would change bits is no pass: a
// norm's weight does not go into the matrix behind it, which would be quantized anew; it becomes part of the norm. Biases that the matrix
// unit adds are fold_biases.h's, whose bits are its own. Thread-safe (pure functions).
#pragma once

#include "absl/types/span.h"
#include "tessera/npu/graph.h"

namespace tessera {

// Attention of many heads becomes an operator for each, and queries, keys and values come by heads. Finds Attention and StoreKeyValue.
Graph SplitHeads(Graph graph);

// Products become 1x1 convolutions, which read and write tiles. Finds Linear.
Graph MakeConvolutions(Graph graph);

// Multiplications by constants and additions of them become part of their neighbours: a norm's weight of the norm, attention's scale of
// the query's product, a bias of its product. Finds RmsNorm, Attention, AddBias and products with a bias.
Graph FoldScalars(Graph graph);

// The second matrix of an adapter, B, becomes one for each head. By the model this takes as long as before, since the same tiles are read
// and multiplied; 004 does it for the sake of quantized adapters. Finds products with an adapter.
Graph SplitAdapters(Graph graph);

// Keys are stored as the product of queries and keys reads them. Finds Attention.
Graph TransposeKeys(Graph graph);

struct GraphPass {
  const char* name;                 // "heads split", for people.
  Graph (*apply)(Graph);
  bool (*finds)(const Graph&);      // Whether there is something to do, done or not.
  bool GraphForm::*done;            // What it sets.
};

// All five in 004's order: that of its text, then that of its table.
absl::Span<const GraphPass> GraphPasses();

// The same graph with no pass done that finds something to do.
Graph Untransformed(Graph graph);

}  // namespace tessera
