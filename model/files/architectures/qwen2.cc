// Qwen 2 and 2.5: as Llama, with biases on queries, keys and values, and RoPE on halves. The head may have a bias, too.
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadCommonConfig(file, "qwen2"));
  config.rope_pairs = RopePairs::kHalves;
  return config;
}

constexpr OptionalBiases kBiases = {.layer = {.query = true, .key = true, .value = true}, .head = true};

}  // namespace

const Architecture kQwen2 = {"qwen2", Configure, kBiases};

}  // namespace tessera
