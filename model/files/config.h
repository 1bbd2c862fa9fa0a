// The configuration of a decoder model, as numbers: read once from a GGUF file, and checked. Graphs and caches are built from the
// configuration alone.
//
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*file));
//   for (const LayerConfig& layer : config.layers) Use(layer.window, config.ropes[layer.rope]);
//
// The architecture (model/files/architectures) decides which keys are read and which parts a layer has; no later code uses the
// architecture's name. Errors: InvalidArgument or NotFound with file, key, offset, value found and value expected. Thread-safe (plain
// data).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/tensor/operator_variants.h"
#include "tessera/tensor/rope.h"

namespace tessera {

// The products of a layer that have a bias: the architecture knows the bias, and the file holds the bias.
struct LayerBiases {
  bool query = false, key = false, value = false, output = false;
  bool gate = false, up = false, down = false;
  friend bool operator==(const LayerBiases&, const LayerBiases&) = default;
};

struct LayerConfig {
  int rope = 0;             // Index into ModelConfig::ropes.
  int window = 0;           // Positions that a row may attend to, the row's own included; 0: all.
  LayerBiases biases = {};
  friend bool operator==(const LayerConfig&, const LayerConfig&) = default;
};

struct ModelConfig {
  std::string architecture = {};  // For people to read only.
  int width = 0;                  // Width of the residual stream.
  int feed_forward = 0;
  int heads = 0;                  // Query heads.
  int kv_heads = 0;
  int head_size = 0;
  int vocabulary = 0;             // Rows of the embedding table.
  int context_length = 0;         // The context for which the model was trained.
  int longest_context = 0;        // Beyond this context the file does not say which layers have its window; 0: no such limit.
  float norm_epsilon = 0;
  float embedding_scale = 1;
  float attention_scale = 0;
  float logit_cap = 0;            // Logits are capped softly: cap * tanh(logit / cap); 0: no cap.
  Activation activation = Activation::kSilu;
  RopePairs rope_pairs = RopePairs::kAdjacent;
  bool query_key_norm = false;    // Norms of each head of queries and keys, before RoPE.
  bool post_norms = false;        // Norms after attention and after the feed-forward part.
  bool tied_head = false;         // The embedding table is also the head.
  bool head_bias = false;
  std::vector<RopeConfig> ropes = {};
  std::vector<LayerConfig> layers = {};
  int left_out = 0;               // Layers of the file behind these layers, left out of the model (FirstLayers).
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// Returns the window of each layer.
inline std::vector<int> WindowsOf(const ModelConfig& config) {
  std::vector<int> windows;
  for (const LayerConfig& layer : config.layers) windows.push_back(layer.window);
  return windows;
}

// Returns the model's first layers as a separate model, with the whole model's embeddings, norm and head: a draft for the whole. REQUIRES:
// 1 <= layers <= config.layers.size().
inline ModelConfig FirstLayers(ModelConfig config, int layers) {
  config.left_out += static_cast<int>(config.layers.size()) - layers;
  config.layers.resize(static_cast<size_t>(layers));
  return config;
}

// Reads the configuration. Returns InvalidArgument with the known architectures if the file's architecture is unknown.
absl::StatusOr<ModelConfig> ReadModelConfig(const GgufFile& file);

}  // namespace tessera
