// Moves biases into products with matrices in tiles, as the matrix unit of a phone NPU adds them: before an output is rounded to FP16.
//
//   graph = FoldBiases(std::move(graph));      // Compile does it; by itself it is for those that only want to know what a graph costs
//
// Thread-safe (pure function).
#pragma once

#include "tessera/npu/graph.h"

namespace tessera {

// An AddBias goes where all that writes its x are products with matrices in tiles, and nothing else reads x: these then write its y, with
// Product::bias. Other operators stay as they are. REQUIRES: CheckGraph(graph) is OK.
Graph FoldBiases(Graph graph);

}  // namespace tessera
