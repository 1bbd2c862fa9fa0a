// Moves biases into products with matrices in tiles. The matrix unit of a phone NPU adds biases the same way: before an output is rounded
// to FP16.
//
//   graph = FoldBiases(std::move(graph));      // Compile does it; by itself it is for those that only want to know what a graph costs
//
// Thread-safe (pure function).
#pragma once

#include "tessera/npu/graph.h"

namespace tessera {

// Folds each AddBias whose x is written only by products with matrices in tiles and read by no other operator. The products then write the
// AddBias's y, with Product::bias. Other operators stay unchanged. REQUIRES: CheckGraph(graph) is OK.
Graph FoldBiases(Graph graph);

}  // namespace tessera
