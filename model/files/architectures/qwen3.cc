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

}  // namespace

const Architecture kQwen3 = {"qwen3", Configure};

}  // namespace tessera
