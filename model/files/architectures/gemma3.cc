// Gemma 3 (text): norms before and after each part and on query and key heads, GELU, scaled embeddings. Per layer that attends to all
// positions there are five layers with a sliding window and a separate RoPE base. GGUF's norm weights already include the 1 that the model
// adds.
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

constexpr char kCapKey[] = "gemma3.final_logit_softcapping";  // Some converters write this key, as for Gemma 2.
constexpr float kLargestCap = 1e30f;
constexpr int kLayersOf27B = 62;  // The only size whose attention scale is not 1 / sqrt(head size).

// The defaults of all models of the family. Older files do not name the base of layers with a window. Files by Ollama's converter, of
// models that take images, have neither base, nor the epsilon, nor the factor of positions.
constexpr FileDefaults kDefaults = {.window_period = 6, .window_rope_base = 10'000, .rope_base = 1'000'000, .norm_epsilon = 1e-6};
constexpr double kLongFactor = 8;
constexpr size_t kLayersOfLong[] = {34, 48, 62};  // The sizes with the factor: 4B, 12B and 27B.

constexpr char kImages[] = "it describes the image tower, through which no text passes";
constexpr KeyRule kKeys[] = {
    {"rope.freq_base_swa", KeyRule::kRead, "the base in layers with a window"},
    {"rope.local.freq_base", KeyRule::kRead, "the same, as Ollama's converter has it"},
    {"rope.global.freq_base", KeyRule::kRead, "the base in the other layers, as Ollama's converter has it"},
    {"final_logit_softcapping", KeyRule::kRead, "the soft cap of logits; 0: none"},
    {"embedding_scale", KeyRule::kNone, "another factor of embeddings than the root of the width"},
    {"hidden_activation", KeyRule::kText, "another activation", "gelu_pytorch_tanh|gelu_tanh|gelu"},
    {"vision.*", KeyRule::kNoEffect, kImages},
    {"mm.*", KeyRule::kNoEffect, kImages},
};

// Sets the factor if the file has no scaling.
void ScalePositions(const GgufFile& file, ModelConfig& config) {
  const bool said = file.Find("gemma3.rope.scaling.type") != nullptr || file.Find("gemma3.rope.scaling.factor") != nullptr ||
                    file.Find("gemma3.rope.scale_linear") != nullptr;
  if (said || !absl::c_linear_search(kLayersOfLong, config.layers.size())) return;
  config.ropes[0].scaling = RopeConfig::Scaling::kLinear;
  config.ropes[0].factor = kLongFactor;
}

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadCommonConfig(file, "gemma3", kDefaults));
  ScalePositions(file, config);
  config.query_key_norm = true;
  config.post_norms = true;
  config.activation = Activation::kGeluTanh;
  config.rope_pairs = RopePairs::kHalves;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (config.layers.size() == kLayersOf27B) {
    config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.width) / static_cast<float>(config.heads));
  }
  ASSIGN_OR_RETURN(const double cap, file.FloatOr(kCapKey, 0));
  config.logit_cap = static_cast<float>(cap);
  if (config.logit_cap >= 0 && config.logit_cap <= kLargestCap) return config;
  return file.Unexpected(kCapKey, absl::StrCat("0 to ", kLargestCap));
}

constexpr OptionalBiases kBiases = {.layer = {.query = true, .key = true, .value = true}};
constexpr HarmlessTensors kHarmless[] = {{"v.", "", "the image tower, through which no text passes"},
                                         {"mm.", "", "the image tower's way into the model, through which no text passes"}};

}  // namespace

const Architecture kGemma3 = {"gemma3", Configure, kBiases, kHarmless, kKeys};

}  // namespace tessera
