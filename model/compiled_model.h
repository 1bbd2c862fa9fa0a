// The blocks of a model, compiled, and where their weights lie: what can be known of a pass before a device loads anything.
//
//   ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = 512}));
//   const int64_t scratch = device.ScratchBytes(model.graphs(), /*longest_path=*/4096);
//   GraphStore store(device, model.variants());                       // npu/graph_store.h
//   ASSIGN_OR_RETURN(LoadedGraph* const graph, store.For(model.layer(0), /*rows=*/1));
//   for (int unit : model.block(model.layer(0)).units) Lease(unit);
//
// Blocks are numbered in the order of a pass: embedding (a panel), layers, output norm, parts of the head. Layers that are alike share one
// graph. Constant once made.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/block_graph.h"
#include "tessera/npu/graph_store.h"

namespace tessera {

// A layer takes at most this many rows of a pass at a time, so that their activations stay in caches.
inline constexpr int kRowsTogether = 256;
inline constexpr int kHeadRows = 64;  // Rows whose logits are computed at once, which bounds what the device needs for them.

class CompiledModel {
 public:
  struct Options {
    int row_capacity = 512;               // Most rows of a pass.
    int rows_together = kRowsTogether;    // Most of those that a layer takes at a time. REQUIRES: 1 or more.
    // Ascending: each block is compiled for these, too, as far as they are fewer rows than it is compiled for anyway. For devices that
    // compute all rows of a graph, whether they are there or not.
    std::vector<int> graph_rows = {};
  };
  struct Block {
    std::vector<TensorPart> parts;        // parts[w] holds graph weight w.
    std::vector<int> units;               // That these lie in: distinct, ascending.
  };

  // InvalidArgument (found, expected) if a row capacity is out of range.
  static absl::StatusOr<CompiledModel> Create(const ModelConfig& config, const WeightLayout& layout, const Options& options);

  int layers() const { return layers_; }
  int row_capacity() const { return row_capacity_; }
  int rows_together() const { return rows_together_; }       // At most row_capacity().

  static constexpr int kEmbedding = 0;             // A panel of the embedding table,
  static constexpr int kLastEmbeddingPanel = 1;    // and the last, which may have fewer rows.
  int layer(int layer) const { return layer + kLastEmbeddingPanel + 1 + (layer == layers_ - 1 ? 1 : 0); }
  int last_keys_and_values() const { return layers_ + 1; }   // What the last layer does for rows whose result nobody wants.
  int output_norm() const { return layers_ + 3; }
  int head(int part) const { return layers_ + 4 + part; }
  int head_parts() const { return static_cast<int>(blocks_.size()) - head(0); }

  // The layer that a block belongs to; layers() for what comes after the last.
  int LayerOf(int block) const {
    return block >= output_norm() ? layers_ : block > last_keys_and_values() ? layers_ - 1 : block - kLastEmbeddingPanel - 1;
  }

  const Block& block(int index) const { return blocks_[static_cast<size_t>(index)]; }
  // Per block, for a GraphStore.
  const std::vector<BlockVariants>& variants() const { return variants_; }
  // Each graph once.
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
