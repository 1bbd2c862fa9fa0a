// The compiled blocks of a model, and the places of the blocks' weights. Describes a pass before a device loads anything.
//
//   ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = 512}));
//   const int64_t scratch = device.ScratchBytes(model.graphs(), /*longest_path=*/4096);
//   GraphStore store(device, model.variants());                       // npu/graph_store.h
//   ASSIGN_OR_RETURN(LoadedGraph* const graph, store.For(model.layer(0), /*rows=*/1));
//   for (int unit : model.block(model.layer(0)).units) Lease(unit);
//
// Blocks are numbered in the order of a pass: embedding (a panel), layers, output norm, parts of the head. Equal layers share one graph.
// Threads: constant after Create.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/block_graph.h"
#include "tessera/npu/graph_store.h"

namespace tessera {

// Maximum rows of a pass that a layer takes at a time, so that the rows' activations stay in caches.
inline constexpr int kRowsTogether = 256;
inline constexpr int kHeadRows = 64;  // Maximum rows per logits call. Bounds the head's scratch memory.

class CompiledModel {
 public:
  struct Options {
    int row_capacity = 512;               // Maximum rows of a pass.
    int rows_together = kRowsTogether;    // Maximum rows that a layer takes at a time. REQUIRES: 1 or more.
    // Ascending. Each block is also compiled for these numbers of rows, if they are below the block's own maximum. For devices that compute
    // all rows of a graph, present or not.
    std::vector<int> graph_rows = {};
  };
  struct Block {
    std::vector<TensorPart> parts;        // parts[w] holds graph weight w.
    std::vector<int> units;               // Units that hold the parts: distinct, ascending.
  };

  // Returns InvalidArgument (found, expected) if a row capacity is out of range.
  static absl::StatusOr<CompiledModel> Create(const ModelConfig& config, const WeightLayout& layout, const Options& options);

  int layers() const { return layers_; }
  int row_capacity() const { return row_capacity_; }
  int rows_together() const { return rows_together_; }       // At most row_capacity().

  static constexpr int kEmbedding = 0;             // A panel of the embedding table,
  static constexpr int kLastEmbeddingPanel = 1;    // and the last, which may have fewer rows.
  int layer(int layer) const { return layer + kLastEmbeddingPanel + 1 + (layer == layers_ - 1 ? 1 : 0); }
  int last_keys_and_values() const { return layers_ + 1; }   // The last layer for rows whose result nobody wants.
  int output_norm() const { return layers_ + 3; }
  int head(int part) const { return layers_ + 4 + part; }
  int head_parts() const { return static_cast<int>(blocks_.size()) - head(0); }

  // Returns the layer of a block; layers() for blocks behind the last layer.
  int LayerOf(int block) const {
    return block >= output_norm() ? layers_ : block > last_keys_and_values() ? layers_ - 1 : block - kLastEmbeddingPanel - 1;
  }

  const Block& block(int index) const { return blocks_[static_cast<size_t>(index)]; }
  // Returns the variants of each block, for a GraphStore.
  const std::vector<BlockVariants>& variants() const { return variants_; }
  // Returns each graph once.
  std::vector<const CompiledGraph*> graphs() const;

 private:
  friend class ModelCompiler;

  int layers_ = 0;
  int row_capacity_ = 0;
  int rows_together_ = 0;
  std::vector<Block> blocks_;
  std::vector<BlockVariants> variants_;
};

}  // namespace tessera
