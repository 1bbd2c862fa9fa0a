#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/architectures/architecture.h"
#include "tessera/model/internal/quoted.h"

namespace tessera {
namespace {

constexpr int kMostLayers = 4096, kLargestWidth = 1 << 20, kMostHeads = 4096, kLargestContext = 1 << 24, kLargestVocabulary = 1 << 24;

// Reads "<name>.<key>" values, each within bounds, with one kind of message.
class Keys {
 public:
  Keys(const GgufFile& file, absl::string_view name) : file_(file), name_(name) {}

  std::string Full(absl::string_view key) const { return absl::StrCat(name_, ".", key); }

  absl::StatusOr<int> Count(absl::string_view key, int most) const {
    ASSIGN_OR_RETURN(const uint64_t value, file_.Uint(Full(key)));
    return Bounded(key, value, most);
  }
  absl::StatusOr<int> CountOr(absl::string_view key, int most, int otherwise) const {
    ASSIGN_OR_RETURN(const uint64_t value, file_.UintOr(Full(key), static_cast<uint64_t>(otherwise)));
    return Bounded(key, value, most);
  }

 private:
  absl::StatusOr<int> Bounded(absl::string_view key, uint64_t value, int most) const {
    if (value >= 1 && value <= static_cast<uint64_t>(most)) return static_cast<int>(value);
    return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": ", Full(key), ": found ", value, ", expected 1 to ", most));
  }

  const GgufFile& file_;
  const absl::string_view name_;
};

absl::Status ReadSizes(const GgufFile& file, const Keys& keys, ModelConfig& config) {
  ASSIGN_OR_RETURN(config.width, keys.Count("embedding_length", kLargestWidth));
  ASSIGN_OR_RETURN(config.feed_forward, keys.Count("feed_forward_length", kLargestWidth));
  ASSIGN_OR_RETURN(config.context_length, keys.Count("context_length", kLargestContext));
  ASSIGN_OR_RETURN(const int layers, keys.Count("block_count", kMostLayers));
  config.layers.resize(layers);
  const GgufTensor* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || embedding->shape[1] > kLargestVocabulary) {
    const std::string found =
        embedding == nullptr ? "missing" : absl::StrCat("shape: found [", absl::StrJoin(embedding->shape, ", "), "]");
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor token_embd.weight: ", found, ", expected [",
                                                   config.width, ", vocabulary <= ", kLargestVocabulary, "]"));
  }
  config.vocabulary = static_cast<int>(embedding->shape[1]);
  config.tied_head = file.FindTensor("output.weight") == nullptr;
  // More rows than tokens are padding. A token without a row could be written in a prompt and not be computed.
  const GgufValue* tokens = file.Find("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->count <= static_cast<uint64_t>(config.vocabulary)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tokenizer.ggml.tokens: found ", tokens->count,
                                                 " entries, expected at most ", config.vocabulary,
                                                 ", the rows of token_embd.weight"));
}

absl::Status ReadHeads(const GgufFile& file, const Keys& keys, ModelConfig& config) {
  ASSIGN_OR_RETURN(config.heads, keys.Count("attention.head_count", kMostHeads));
  ASSIGN_OR_RETURN(config.kv_heads, keys.CountOr("attention.head_count_kv", kMostHeads, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full("attention.head_count_kv"), ": found ",
                                                   config.kv_heads, ", expected a divisor of the head count ", config.heads));
  }
  const int even_share = config.width / config.heads;
  ASSIGN_OR_RETURN(config.head_size, keys.CountOr("attention.key_length", kLargestWidth, std::max(even_share, 1)));
  ASSIGN_OR_RETURN(const int value_size, keys.CountOr("attention.value_length", kLargestWidth, config.head_size));
  if (value_size != config.head_size) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full("attention.value_length"), ": found ", value_size,
                                                   ", expected the key length ", config.head_size));
  }
  config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_size));
  ASSIGN_OR_RETURN(const double epsilon, file.Float(keys.Full("attention.layer_norm_rms_epsilon")));
  config.norm_epsilon = static_cast<float>(epsilon);
  if (config.norm_epsilon > 0 && config.norm_epsilon < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full("attention.layer_norm_rms_epsilon"), ": found ",
                                                 epsilon, ", expected above 0 and below 1"));
}

// A file without a scaling type but with a factor means linear scaling; files of 2023 call the factor rope.scale_linear.
absl::Status ReadScaling(const GgufFile& file, const Keys& keys, const ModelConfig& config, RopeConfig& rope) {
  ASSIGN_OR_RETURN(const absl::string_view type, file.StringOr(keys.Full("rope.scaling.type"), "linear"));
  ASSIGN_OR_RETURN(const double older_factor, file.FloatOr(keys.Full("rope.scale_linear"), 0.0));
  ASSIGN_OR_RETURN(rope.factor, file.FloatOr(keys.Full("rope.scaling.factor"), older_factor));
  ASSIGN_OR_RETURN(rope.attn_factor, file.FloatOr(keys.Full("rope.scaling.attn_factor"), 1.0));
  if (type != "none" && type != "linear" && type != "yarn") {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full("rope.scaling.type"), ": found ", Quoted(type),
                                                   ", expected none, linear or yarn"));
  }
  if (type == "none" || rope.factor == 0) {
    rope.factor = 1;
  } else if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::kLinear;
  } else {
    // Converters write the yarn_ keys for any architecture, if the model's own configuration has other numbers than usual: it was
    // trained with them, so they are read here for all. llama.cpp computes llama, qwen2 and qwen3 with the usual numbers whatever
    // the file says. yarn_attn_factor is read by neither: to some writers it multiplies YaRN's own 1 + 0.1 ln(factor), to others it
    // stands for it.
    rope.scaling = RopeConfig::Scaling::kYarn;
    ASSIGN_OR_RETURN(rope.original_context,
                     keys.CountOr("rope.scaling.original_context_length", kLargestContext, config.context_length));
    ASSIGN_OR_RETURN(rope.ext_factor, file.FloatOr(keys.Full("rope.scaling.yarn_ext_factor"), rope.ext_factor));
    ASSIGN_OR_RETURN(rope.beta_fast, file.FloatOr(keys.Full("rope.scaling.yarn_beta_fast"), rope.beta_fast));
    ASSIGN_OR_RETURN(rope.beta_slow, file.FloatOr(keys.Full("rope.scaling.yarn_beta_slow"), rope.beta_slow));
  }
  return absl::OkStatus();
}

absl::Status ReadRope(const GgufFile& file, const Keys& keys, ModelConfig& config) {
  RopeConfig rope;
  ASSIGN_OR_RETURN(rope.dimensions, keys.CountOr("rope.dimension_count", kLargestWidth, config.head_size));
  if (rope.dimensions > config.head_size) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full("rope.dimension_count"), ": found ", rope.dimensions,
                                                   ", expected at most the head size ", config.head_size));
  }
  ASSIGN_OR_RETURN(rope.base, file.FloatOr(keys.Full("rope.freq_base"), 10000.0));
  RETURN_IF_ERROR(ReadScaling(file, keys, config, rope));
  if (const GgufTensor* factors = file.FindTensor("rope_freqs.weight")) {
    const int64_t expected = rope.dimensions / 2;
    if (factors->shape.size() != 1 || factors->shape[0] != expected) {
      return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor rope_freqs.weight: found ", factors->shape[0],
                                                     " values, expected ", expected));
    }
    std::vector<std::byte> bytes(factors->size);
    RETURN_IF_ERROR(file.Read(*factors, 0, absl::MakeSpan(bytes)));
    rope.frequency_factors.resize(expected);
    factors->format->dequantize(bytes.data(), expected, rope.frequency_factors.data());
  }
  const absl::Status usable = RopeTable::Create(rope).status();
  if (!usable.ok()) {
    const bool of_tensor = absl::StartsWith(usable.message(), "rope_freqs.weight");
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", of_tensor ? "tensor " : keys.Full(""), usable.message()));
  }
  config.ropes = {rope};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelConfig> ReadCommonConfig(const GgufFile& file, absl::string_view name) {
  const Keys keys(file, name);
  ModelConfig config;
  config.architecture = std::string(name);
  RETURN_IF_ERROR(ReadSizes(file, keys, config));
  RETURN_IF_ERROR(ReadHeads(file, keys, config));
  RETURN_IF_ERROR(ReadRope(file, keys, config));
  return config;
}

}  // namespace tessera
