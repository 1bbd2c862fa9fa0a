// Builds the static graphs of a decoder model: embedding, one block per layer, final norm and head.
//
//   ASSIGN_OR_RETURN(BlockGraph block, BuildLayerGraph(config, layout, /*layer=*/0));
//   ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(block.graph, {.row_capacity = 512}));
//   for (const TensorPart& part : block.parts) Lease(part.unit);           // one part per graph weight, in order
//
// Graphs hold no layer number: equal layers give equal graphs, and a device loads each graph once. Every layer offers LoRA placeholders at
// its seven products, in the order of LoraTarget. Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/npu/graph.h"

namespace tessera {

struct BlockGraph {
  Graph graph;
  std::vector<TensorPart> parts;   // parts[w] holds graph weight w.
};

// Builds the graph of one layer. Input "hidden" [width], output "hidden" [width]. Attention and stores use layer 0 of the KvView given to
// Run.
BlockGraph BuildLayerGraph(const ModelConfig& config, const WeightLayout& layout, int layer);

// Builds a layer for rows whose own results are not wanted. The layer only stores the rows' keys and values. Input "hidden" [width], no
// output.
BlockGraph BuildKeyValueGraph(const ModelConfig& config, const WeightLayout& layout, int layer);

// Looks up rows of one panel of the embedding table (WeightLayout::PanelOf). No input; output "hidden" [width], written for rows whose
// token is in the panel. Tokens are counted from the panel's first row, so the graphs of all panels are alike.
BlockGraph BuildEmbeddingGraph(const ModelConfig& config, const TensorPart& panel);

// Builds the output norm. Input "hidden" [width], output "normed" [width].
BlockGraph BuildOutputNormGraph(const ModelConfig& config, const WeightLayout& layout);

// Builds one graph per part of the head. Input "normed" [width], output "logits" [rows of the part].
std::vector<BlockGraph> BuildHeadGraphs(const ModelConfig& config, const WeightLayout& layout);

}  // namespace tessera
