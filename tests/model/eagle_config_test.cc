// Configurations of EAGLE-3 heads as their makers publish them, with the sizes of a tiny model: what they also say is taken for what it is.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/model/eagle_head.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr char kSizes[] = R"("hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 1, "vocab_size": 265, "draft_vocab_size": 40, "rms_norm_eps": 1e-05, "hidden_act": "silu")";

// As SpecForge and the first heads of Llama models have it.
constexpr char kShort[] = R"({"architectures": ["LlamaForCausalLMEagle3"], "bos_token_id": 128000, "eos_token_id": 128001, SIZES,
    "initializer_range": 0.02, "max_position_embeddings": 2048, "model_type": "llama", "pad_token_id": 0,
    "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.28.1", "use_cache": true})";

// As heads of Qwen3 models have it: much of it about windows that nothing uses.
constexpr char kWithWindows[] = R"({"architectures": ["LlamaForCausalLMEagle3"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 16, SIZES, "initializer_range": 0.02,
    "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "llama", "rope_scaling": null, "rope_theta": 1000000,
    "sliding_window": 512, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
    "use_cache": true, "use_sliding_window": false, "target_model_type": "gemma3_text"})";

// With layers, and what else later makers write.
constexpr char kWithLayers[] = R"({"architectures": ["LlamaForCausalLMEagle3"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 0, "dtype": "bfloat16", "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 58],
    "use_aux_hidden_state": true}, "eos_token_id": [1, 2], "head_dim": 16, SIZES, "initializer_range": 0.02,
    "max_position_embeddings": 262144, "mlp_bias": false, "model_type": "llama", "pad_token_id": 2, "pretraining_tp": 1,
    "rope_scaling": null, "rope_theta": 10000.0, "sliding_window": null, "layer_types": ["full_attention"],
    "tie_word_embeddings": false, "transformers_version": "4.57.1", "unk_token_id": null, "decoder_start_token_id": 0,
    "use_cache": true})";

// As NVIDIA's exporter has it: the part about the head says what this engine computes, some of it by null.
constexpr char kExported[] = R"({"architectures": ["LlamaForCausalLMEagle3"], SIZES, "target_hidden_size": 64, "head_dim": 16,
    "max_position_embeddings": 4096, "model_type": "llama", "attention_bias": false, "mlp_bias": false, "rope_theta": 500000.0,
    "_name_or_path": "", "quantization_config": null, "some_future_key": null,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [], "use_aux_hidden_state": true, "next_layer_regular": true,
    "use_input_layernorm_in_first_layer": true, "use_last_layernorm": true, "use_mtp_layernorm": false, "parallel_draft_step": 1,
    "parallel_draft_heads_num_layers": null}})";

ModelConfig Target() {
  ModelConfig config;
  config.width = 64, config.vocabulary = 265;
  config.layers.resize(61);
  return config;
}

absl::StatusOr<std::shared_ptr<const EagleHead>> HeadOf(const std::string& configuration) {
  const std::string bytes = EagleBuilder().File();
  const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "head"));
  return EagleHead::Read(*file, absl::StrReplaceAll(configuration, {{"SIZES", kSizes}}), "config.json", Target());
}

TEST(EagleConfig, PublishedConfigurationsAreRead) {
  const std::vector<int> by_default = {2, 30, 58};
  const std::pair<std::string, std::vector<int>> configurations[] = {
      {kShort, by_default}, {kWithWindows, by_default}, {kWithLayers, {3, 31, 59}}, {kExported, by_default}};
  for (const auto& [configuration, layers] : configurations) {
    const std::shared_ptr<const EagleHead> head = Must(HeadOf(configuration));
    EXPECT_EQ(head->shape().layers, layers) << configuration;
    EXPECT_EQ(head->shape().head_size, 16) << configuration;
    EXPECT_EQ(head->shape().vocabulary, 40) << configuration;
  }
  EXPECT_EQ(Must(HeadOf(kWithWindows))->shape().rope_base, 1'000'000);
}

// Each key that is new to a published configuration is named, wherever it stands, and so is one that changes what is computed.
TEST(EagleConfig, AnyOtherKeyIsRefusedByName) {
  for (const char* configuration : {kShort, kWithWindows, kWithLayers, kExported}) {
    for (const char* key : {"q_lora_rank", "partial_rotary_factor", "num_experts", "logit_scale", "norm_output"}) {
      const std::string more = absl::StrCat("{\"", key, "\": 1, ", absl::string_view(configuration).substr(1));
      const absl::Status status = HeadOf(more).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << key;
      EXPECT_EQ(status.message(), absl::StrCat("config.json: ", key, ": found it, expected keys of which it is known what they change"));
    }
  }
  const std::string windowed = absl::StrReplaceAll(kWithWindows, {{"\"use_sliding_window\": false, ", ""}});
  EXPECT_TRUE(absl::StrContains(HeadOf(windowed).status().message(), "sliding_window: found one, expected nothing, or use_sliding_window"));
  const std::string scaled = absl::StrReplaceAll(kWithLayers, {{"\"rope_scaling\": null", "\"rope_scaling\": {\"factor\": 8.0}"}});
  EXPECT_TRUE(absl::StrContains(HeadOf(scaled).status().message(), "rope_scaling: found an object"));
}

// A long key costs no more than reading it.
TEST(EagleConfig, AKeyOfAnyLengthIsRefusedAtOnce) {
  const std::string key(500'000, 'k');
  const absl::Status status = HeadOf(absl::StrCat("{\"", key, "\": 1, ", absl::string_view(kShort).substr(1))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
