// The static graphs that compute a model: each distinct graph once, with the places of the graph's buffers and weights.
//
//   ASSIGN_OR_RETURN(std::vector<DescribedGraph> graphs, GraphsOf(config, layout, /*row_capacity=*/512));
//   RETURN_IF_ERROR(WriteOutput(GraphsText(graphs)));
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/block_graph.h"
#include "tessera/npu/compiler.h"

namespace tessera {

// A part of the model that the graph computes: "layer 7", and the places of the part's weights.
struct GraphUse {
  std::string name;
  std::vector<TensorPart> parts;   // One per weight of the graph.
};

struct DescribedGraph {
  CompiledGraph compiled;
  std::vector<GraphUse> uses;      // In the order of GraphsOf, at least one.
};

// Returns the graphs of embedding, layers, output norm and head; before the norm also keys and values of the last layer, for rows that need
// no logits. Returns the error of Compile if a graph does not compile.
absl::StatusOr<std::vector<DescribedGraph>> GraphsOf(const ModelConfig& config, const WeightLayout& layout, int row_capacity);

std::string GraphsText(const std::vector<DescribedGraph>& graphs);
std::string GraphsJson(const std::vector<DescribedGraph>& graphs);

}  // namespace tessera
