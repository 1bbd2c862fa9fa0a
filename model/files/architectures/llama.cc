// Llama and those like it (SmolLM, Mistral, TinyLlama): pre-norms, SiLU, RoPE on neighbouring pairs.
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

constexpr KeyRule kKeys[] = {
    {"tensor_data_layout", KeyRule::kText, "rows of queries and keys in another order", "Meta AI original pth"},
};

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) {
  ASSIGN_OR_RETURN(ModelConfig config, ReadCommonConfig(file, "llama"));
  config.qkv_bias = file.FindTensor("blk.0.attn_q.bias") != nullptr;
  return config;
}

}  // namespace

const Architecture kLlama = {"llama", Configure, kKeys};

}  // namespace tessera
