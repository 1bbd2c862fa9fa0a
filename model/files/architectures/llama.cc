// Llama and similar models (SmolLM, Mistral, TinyLlama): pre-norms, SiLU, RoPE on neighbouring pairs. Files may have a bias on each product
// of a layer.
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

constexpr KeyRule kKeys[] = {
    {"tensor_data_layout", KeyRule::kText, "rows of queries and keys in another order", "Meta AI original pth"},
};

absl::StatusOr<ModelConfig> Configure(const GgufFile& file) { return ReadCommonConfig(file, "llama"); }

constexpr OptionalBiases kBiases = {
    .layer = {.query = true, .key = true, .value = true, .output = true, .gate = true, .up = true, .down = true}};

}  // namespace

const Architecture kLlama = {"llama", Configure, kBiases, {}, kKeys};

}  // namespace tessera
