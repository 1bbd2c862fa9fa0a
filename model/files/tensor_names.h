// The tensors of a model, by GGUF names, with the shapes that the model's configuration requires.
//
//   for (const TensorNeed& need : LayerNeeds(config, /*layer=*/0)) Check(need.name, need.rows, need.columns);
//
// Thread-safe (pure functions).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct TensorNeed {
  std::string name = {};   // "blk.3.ffn_up.weight": in the file.
  std::string label = {};  // "ffn_up.weight": in graphs, the same for all layers.
  int64_t rows = 1;     // Outputs.
  int64_t columns = 1;  // Inputs; the length of a vector.
  bool vector = false;
};

// Factors of RoPE's frequencies. No unit holds the factors: the factors are read with the configuration (RopeConfig::frequency_factors).
inline constexpr char kRopeFactors[] = "rope_freqs.weight";

// The biases of a layer's products, each with the flag of LayerBiases.
struct LayerBias { const char* label; bool LayerBiases::*flag; };
inline constexpr LayerBias kLayerBiases[] = {{"attn_q.bias", &LayerBiases::query},    {"attn_k.bias", &LayerBiases::key},
                                             {"attn_v.bias", &LayerBiases::value},    {"attn_output.bias", &LayerBiases::output},
                                             {"ffn_gate.bias", &LayerBiases::gate},   {"ffn_up.bias", &LayerBiases::up},
                                             {"ffn_down.bias", &LayerBiases::down}};

// Returns the tensors of a layer in the order of a pass.
std::vector<TensorNeed> LayerNeeds(const ModelConfig& config, int layer);
TensorNeed EmbeddingNeed(const ModelConfig& config);
TensorNeed OutputNormNeed(const ModelConfig& config);
TensorNeed HeadNeed(const ModelConfig& config);      // A separate matrix, or the embedding table.
TensorNeed HeadBiasNeed(const ModelConfig& config);  // Only if config.head_bias.
// Returns all tensors, each once.
std::vector<TensorNeed> AllNeeds(const ModelConfig& config);

// Returns a tensor's shape, padded with 1 for each missing dimension: [64] and [64, 1] become equal.
std::array<int64_t, 4> PaddedShape(const GgufTensor& tensor);

// Returns the file's tensor of this name. Returns InvalidArgument (file, tensor, offset, found, expected) if the tensor is missing or has
// another shape.
absl::StatusOr<const GgufTensor*> FindNeeded(const GgufFile& file, const TensorNeed& need);

}  // namespace tessera
