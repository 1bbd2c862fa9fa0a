// Qwen 3 (dense): as Llama, with norms on each head of queries and keys, and RoPE on halves.
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadCommonConfig(file, "qwen3"));
  config.query_key_norm = true;
  config.rope_pairs = RopePairs::kHalves;
  return config;
}

constexpr OptionalBiases kBiases = {.layer = {.query = true, .key = true, .value = true}};
constexpr HarmlessTensors kHarmless[] = {{"cls.output.", "", "a head that ranks texts instead of writing them"}};

}  // namespace

const Architecture kQwen3 = {"qwen3", Configure, kBiases, kHarmless};

}  // namespace tessera
