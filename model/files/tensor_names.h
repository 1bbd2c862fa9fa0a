// The tensors of a model, by their GGUF names, with the shapes that its configuration requires.
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

// Factors of RoPE's frequencies. No unit holds them: they are read with the configuration (RopeConfig::frequency_factors).
inline constexpr char kRopeFactors[] = "rope_freqs.weight";

// The biases of a layer's products, each with the flag of LayerBiases that stands for it.
struct LayerBias { const char* label; bool LayerBiases::*flag; };
inline constexpr LayerBias kLayerBiases[] = {{"attn_q.bias", &LayerBiases::query},    {"attn_k.bias", &LayerBiases::key},
                                             {"attn_v.bias", &LayerBiases::value},    {"attn_output.bias", &LayerBiases::output},
                                             {"ffn_gate.bias", &LayerBiases::gate},   {"ffn_up.bias", &LayerBiases::up},
                                             {"ffn_down.bias", &LayerBiases::down}};

// In the order in which a pass reads them.
std::vector<TensorNeed> LayerNeeds(const ModelConfig& config, int layer);
TensorNeed EmbeddingNeed(const ModelConfig& config);
TensorNeed OutputNormNeed(const ModelConfig& config);
TensorNeed HeadNeed(const ModelConfig& config);      // A matrix of its own, or the embedding table.
TensorNeed HeadBiasNeed(const ModelConfig& config);  // Only where config.head_bias.
// All of them, each once.
std::vector<TensorNeed> AllNeeds(const ModelConfig& config);

// A tensor's shape with a 1 for each dimension that it does not have: [64] and [64, 1] are alike.
std::array<int64_t, 4> PaddedShape(const GgufTensor& tensor);

// The file's tensor of that name. InvalidArgument (file, tensor, offset, found, expected) if it is missing or has another shape.
absl::StatusOr<const GgufTensor*> FindNeeded(const GgufFile& file, const TensorNeed& need);

}  // namespace tessera
