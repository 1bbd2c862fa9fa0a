// Gemma 3 (text): norms before and after each part and on query and key heads, GELU, scaled embeddings, five layers with a sliding
// window and their own RoPE base per layer that attends to all positions. GGUF's norm weights already include the 1 that the model adds.
#include <algorithm>
#include <cmath>

#include "absl/strings/strip.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

constexpr int kLayersPerPeriod = 6;        // The last of each period is global.
constexpr char kLocalBaseKey[] = "gemma3.rope.freq_base_swa";
constexpr double kLocalRopeBase = 10'000;  // RoPE base of layers with a window; not in the metadata of older files.
constexpr uint64_t kWidestWindow = 1 << 24;  // Beyond every context: a wider window attends to all positions.
constexpr int kLayersOf27B = 62;           // The only size whose attention scale is not 1 / sqrt(head size).

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadCommonConfig(file, "gemma3"));
  config.query_key_norm = true;
  config.post_norms = true;
  config.activation = Activation::kGeluTanh;
  config.rope_pairs = RopePairs::kHalves;
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (config.layers.size() == kLayersOf27B) {
    config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.width) / static_cast<float>(config.heads));
  }
  ASSIGN_OR_RETURN(const uint64_t window, file.UintOr("gemma3.attention.sliding_window", 0));
  if (window == 0) return config;
  RopeConfig local = config.ropes[0];
  local.scaling = RopeConfig::Scaling::kNone;  // Scaling is for the global layers.
  local.frequency_factors.clear();
  ASSIGN_OR_RETURN(local.base, file.FloatOr(kLocalBaseKey, kLocalRopeBase));
  const absl::Status usable = RopeTable::Create(local).status();
  // Everything except the base was checked with the global layers.
  if (!usable.ok()) return file.WrongValue(kLocalBaseKey, absl::StripPrefix(usable.message(), "rope.freq_base: "));
  config.ropes.push_back(local);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool global = (i + 1) % kLayersPerPeriod == 0;
    config.layers[i] = global ? LayerConfig{0, 0} : LayerConfig{1, static_cast<int>(std::min<uint64_t>(window, kWidestWindow))};
  }
  return config;
}

constexpr OptionalBiases kBiases = {.layer = {.query = true, .key = true, .value = true}};
constexpr HarmlessTensors kHarmless[] = {{"v.", "", "the image tower, through which no text passes"},
                                         {"mm.", "", "the image tower's way into the model, through which no text passes"}};

}  // namespace

const Architecture kGemma3 = {"gemma3", Configure, kBiases, kHarmless};

}  // namespace tessera
