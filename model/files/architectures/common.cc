#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int kMostLayers = 4096, kLargestWidth = 1 << 20, kMostHeads = 4096, kLargestContext = 1 << 24, kLargestVocabulary = 1 << 24;

constexpr char kOlderFactor[] = "rope.scale_linear";
constexpr char kOriginalContext[] = "rope.scaling.original_context_length";
constexpr char kOtherBase[] = "rope.global.freq_base";  // Key of Ollama's converter, for gemma3.

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

  // Reads one number, or a list of equal numbers for all layers.
  absl::StatusOr<int> OfEachLayer(absl::string_view key, int most, size_t layers) const {
    const GgufValue* const value = file_.Find(Full(key));
    if (value == nullptr || value->type != GgufType::kArray) return Count(key, most);
    ASSIGN_OR_RETURN(const std::vector<int32_t> numbers, file_.Ints(Full(key)));
    if (numbers.size() != layers) {
      return file_.Unexpected(Full(key), absl::StrCat("a number, or one for each of ", layers, " layers"));
    }
    for (size_t i = 0; i < layers; ++i) {
      if (numbers[i] == numbers[0]) continue;
      return file_.WrongValue(Full(key), absl::StrCat("found ", numbers[i], ", expected ", numbers[0],
                                                      ", as in the first layer; not supported here: layers of different sizes"),
                              static_cast<int64_t>(i));
    }
    return numbers[0] < 0 ? Wrong(key, numbers[0], absl::StrCat("1 to ", most)) : Bounded(key, static_cast<uint64_t>(numbers[0]), most);
  }
  // Checks a number that some writers repeat under a second key.
  absl::Status Repeats(absl::string_view key, int number, absl::string_view first) const {
    ASSIGN_OR_RETURN(const uint64_t found, file_.UintOr(Full(key), static_cast<uint64_t>(number)));
    return found == static_cast<uint64_t>(number) ? absl::OkStatus() : Wrong(key, found, absl::StrCat(number, ", as in ", Full(first)));
  }

  template <typename Value>
  absl::Status Wrong(absl::string_view key, Value found, absl::string_view expected) const {
    return file_.WrongValue(Full(key), absl::StrCat("found ", found, ", expected ", expected));
  }

 private:
  absl::StatusOr<int> Bounded(absl::string_view key, uint64_t value, int most) const {
    if (value >= 1 && value <= static_cast<uint64_t>(most)) return static_cast<int>(value);
    return Wrong(key, value, absl::StrCat("1 to ", most));
  }

  const GgufFile& file_;
  const absl::string_view name_;
};

absl::Status ReadSizes(const GgufFile& file, const Keys& keys, ModelConfig& config) {
  ASSIGN_OR_RETURN(config.width, keys.Count("embedding_length", kLargestWidth));
  RETURN_IF_ERROR(keys.Repeats("embedding_length_out", config.width, "embedding_length"));
  ASSIGN_OR_RETURN(const int layers, keys.Count("block_count", kMostLayers));
  config.layers.resize(layers);
  ASSIGN_OR_RETURN(config.feed_forward, keys.OfEachLayer("feed_forward_length", kLargestWidth, config.layers.size()));
  ASSIGN_OR_RETURN(config.context_length, keys.Count("context_length", kLargestContext));
  const GgufTensor* embedding = file.FindTensor("token_embd.weight");
  const std::array<int64_t, 4> shape = embedding == nullptr ? std::array<int64_t, 4>{} : PaddedShape(*embedding);
  if (shape[1] < 1 || shape[1] > kLargestVocabulary || shape[2] != 1 || shape[3] != 1) {
    const std::string found = embedding == nullptr ? "missing"
                                                   : absl::StrCat("shape at byte ", embedding->shape_offset, ": found [",
                                                                  absl::StrJoin(embedding->shape, ", "), "]");
    const std::string& path = embedding == nullptr ? file.path() : file.PathOf(*embedding);
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor token_embd.weight: ", found, ", expected [", config.width,
                                                   ", vocabulary <= ", kLargestVocabulary, "]"));
  }
  config.vocabulary = static_cast<int>(shape[1]);
  config.tied_head = file.FindTensor("output.weight") == nullptr;
  // More rows than tokens are padding. A token without a row could be written in a prompt and not be computed.
  const GgufValue* tokens = file.Find("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->count <= static_cast<uint64_t>(config.vocabulary)) return absl::OkStatus();
  return file.WrongValue("tokenizer.ggml.tokens", absl::StrCat("found ", tokens->count, " entries, expected at most ",
                                                               config.vocabulary, ", the rows of token_embd.weight"));
}

// Returns the head size by the shape of the query projection, if no key names the head size. If the projection is missing or has another
// shape, returns the head size by the width, so that a message names the usual size.
int LikelyHeadSize(const GgufFile& file, const ModelConfig& config) {
  const GgufTensor* const queries = file.FindTensor("blk.0.attn_q.weight");
  const int64_t rows = queries == nullptr ? 0 : PaddedShape(*queries)[1];
  const bool fits = rows > 0 && rows % config.heads == 0 && rows / config.heads <= kLargestWidth;
  return std::max(1, fits ? static_cast<int>(rows / config.heads) : config.width / config.heads);
}

absl::Status ReadHeads(const GgufFile& file, const Keys& keys, ModelConfig& config) {
  ASSIGN_OR_RETURN(config.heads, keys.OfEachLayer("attention.head_count", kMostHeads, config.layers.size()));
  config.kv_heads = config.heads;
  if (file.Find(keys.Full("attention.head_count_kv")) != nullptr) {
    ASSIGN_OR_RETURN(config.kv_heads, keys.OfEachLayer("attention.head_count_kv", kMostHeads, config.layers.size()));
  }
  if (config.heads % config.kv_heads != 0) {
    return keys.Wrong("attention.head_count_kv", config.kv_heads, absl::StrCat("a divisor of the head count ", config.heads));
  }
  ASSIGN_OR_RETURN(config.head_size, keys.CountOr("attention.key_length", kLargestWidth, LikelyHeadSize(file, config)));
  ASSIGN_OR_RETURN(const int value_size, keys.CountOr("attention.value_length", kLargestWidth, config.head_size));
  if (value_size != config.head_size) {
    return keys.Wrong("attention.value_length", value_size, absl::StrCat("the key length ", config.head_size));
  }
  RETURN_IF_ERROR(keys.Repeats("attention.key_length_swa", config.head_size, "attention.key_length"));
  RETURN_IF_ERROR(keys.Repeats("attention.value_length_swa", config.head_size, "attention.value_length"));
  config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_size));
  return absl::OkStatus();
}

absl::Status ReadEpsilon(const GgufFile& file, const Keys& keys, const FileDefaults& defaults, ModelConfig& config) {
  const std::string key = keys.Full("attention.layer_norm_rms_epsilon");
  const bool must_be_there = defaults.norm_epsilon == 0;
  ASSIGN_OR_RETURN(const double epsilon, must_be_there ? file.Float(key) : file.FloatOr(key, defaults.norm_epsilon));
  config.norm_epsilon = static_cast<float>(epsilon);
  if (config.norm_epsilon > 0 && config.norm_epsilon < 1) return absl::OkStatus();
  return keys.Wrong("attention.layer_norm_rms_epsilon", epsilon, "above 0 and below 1");
}

// A file without a scaling type but with a factor means linear scaling; files of 2023 call the factor rope.scale_linear.
absl::Status ReadScaling(const GgufFile& file, const Keys& keys, const ModelConfig& config, RopeConfig& rope) {
  ASSIGN_OR_RETURN(const absl::string_view type, file.StringOr(keys.Full("rope.scaling.type"), "linear"));
  ASSIGN_OR_RETURN(rope.factor, FloatOfEither(file, keys.Full("rope.scaling.factor"), keys.Full(kOlderFactor), 0.0));
  ASSIGN_OR_RETURN(rope.attn_factor, file.FloatOr(keys.Full("rope.scaling.attn_factor"), 1.0));
  if (type != "none" && type != "linear" && type != "yarn") {
    return keys.Wrong("rope.scaling.type", Quoted(type), "none, linear or yarn");
  }
  // Converters write the yarn_ keys for any architecture if the model's own configuration has unusual numbers. The model was trained with
  // these numbers, so the keys are read here for all architectures. llama.cpp computes llama, qwen2 and qwen3 with the usual numbers,
  // regardless of the file.
  RETURN_IF_ERROR(file.UintOr(keys.Full(kOriginalContext), 0).status());
  for (const auto& [name, number] : {std::pair("ext_factor", &rope.ext_factor), std::pair("beta_fast", &rope.beta_fast),
                                     std::pair("beta_slow", &rope.beta_slow)}) {
    const std::string key = keys.Full(absl::StrCat("rope.scaling.yarn_", name)), other = keys.Full(absl::StrCat("rope.scaling.", name));
    ASSIGN_OR_RETURN(*number, FloatOfEither(file, key, other, *number));
  }
  if (type == "none" || rope.factor == 0) {
    rope.factor = 1;
  } else if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::kLinear;
  } else {
    rope.scaling = RopeConfig::Scaling::kYarn;
    ASSIGN_OR_RETURN(rope.original_context, keys.CountOr(kOriginalContext, kLargestContext, config.context_length));
  }
  return absl::OkStatus();
}

// Reads one factor per pair, if the file has factors. Llama 3.1 keeps the factors in a tensor.
absl::Status ReadFrequencyFactors(const GgufFile& file, RopeConfig& rope) {
  const std::string name = kRopeFactors;
  if (file.FindTensor(name) == nullptr) return absl::OkStatus();
  const int64_t pairs = rope.dimensions / 2;
  ASSIGN_OR_RETURN(const GgufTensor* tensor, FindNeeded(file, {name, name, 1, pairs, /*vector=*/true}));
  std::vector<std::byte> bytes(tensor->size);
  absl::Status read = file.Read(*tensor, 0, absl::MakeSpan(bytes));
  if (absl::IsFailedPrecondition(read)) {  // A file packed by a version that did not keep the factors.
    return absl::InvalidArgumentError(absl::StrCat(read.message(), "; pack the model again"));
  }
  RETURN_IF_ERROR(read);
  rope.frequency_factors.resize(pairs);
  tensor->format->dequantize(bytes.data(), pairs, rope.frequency_factors.data());
  for (int64_t i = 0; i < pairs; ++i) {
    const float factor = rope.frequency_factors[i];
    if (factor > 0 && std::isfinite(factor)) continue;
    const int64_t block = tensor->offset + i / tensor->format->values_per_block * tensor->format->bytes_per_block;
    return absl::InvalidArgumentError(absl::StrCat(file.PathOf(*tensor), ": tensor ", name, ": value ", i, " at byte ", block,
                                                   ": found ", factor, ", expected a finite number above 0"));
  }
  return absl::OkStatus();
}

// Returns the error for a configuration that RopeTable refuses. RopeTable names a field by key ("rope.freq_base: found 0, ..."), or a
// frequency that several keys determine.
absl::Status WrongRope(const GgufFile& file, const Keys& keys, absl::string_view refusal) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(refusal, absl::MaxSplits(": ", 1));
  std::string key = keys.Full(parts.first);
  if (parts.first == "rope.scaling.factor" && file.Find(key) == nullptr) key = keys.Full(kOlderFactor);
  if (parts.first == "rope.freq_base" && file.Find(key) == nullptr) key = keys.Full(kOtherBase);
  if (file.Find(key) != nullptr) return file.WrongValue(key, parts.second);
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", keys.Full(refusal)));
}

absl::Status ReadRope(const GgufFile& file, const Keys& keys, const FileDefaults& defaults, ModelConfig& config) {
  RopeConfig rope;
  ASSIGN_OR_RETURN(rope.dimensions, keys.CountOr("rope.dimension_count", kLargestWidth, config.head_size));
  if (rope.dimensions > config.head_size) {
    return keys.Wrong("rope.dimension_count", rope.dimensions, absl::StrCat("at most the head size ", config.head_size));
  }
  RETURN_IF_ERROR(keys.Repeats("rope.dimension_count_swa", rope.dimensions, "rope.dimension_count"));
  ASSIGN_OR_RETURN(rope.base, FloatOfEither(file, keys.Full("rope.freq_base"), keys.Full(kOtherBase), defaults.rope_base));
  RETURN_IF_ERROR(ReadScaling(file, keys, config, rope));
  RETURN_IF_ERROR(ReadFrequencyFactors(file, rope));
  const absl::Status usable = RopeTable::Create(rope).status();
  if (!usable.ok()) return WrongRope(file, keys, usable.message());
  config.ropes = {rope};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> FloatOfEither(const GgufFile& file, absl::string_view key, absl::string_view other, double otherwise) {
  ASSIGN_OR_RETURN(const double second, file.FloatOr(other, otherwise));
  ASSIGN_OR_RETURN(const double first, file.FloatOr(key, second));
  if (file.Find(key) == nullptr || file.Find(other) == nullptr || first == second) return first;
  return file.WrongValue(other, absl::StrCat("found ", second, ", expected ", first, ", as in ", key));
}

absl::StatusOr<ModelConfig> ReadCommonConfig(const GgufFile& file, absl::string_view name, const FileDefaults& defaults) {
  const Keys keys(file, name);
  ModelConfig config;
  config.architecture = std::string(name);
  RETURN_IF_ERROR(ReadSizes(file, keys, config));
  RETURN_IF_ERROR(ReadHeads(file, keys, config));
  RETURN_IF_ERROR(ReadEpsilon(file, keys, defaults, config));
  RETURN_IF_ERROR(ReadRope(file, keys, defaults, config));
  RETURN_IF_ERROR(ReadWindows(file, defaults, config));
  return config;
}

}  // namespace tessera
