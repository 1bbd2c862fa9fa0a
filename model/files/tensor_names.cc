#include "tessera/model/files/tensor_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

class LayerList {
 public:
  explicit LayerList(int layer) : layer_(layer) {}

  void Vector(const char* label, int64_t size) { needs_.push_back({Name(label), label, 1, size, true}); }
  void Bias(const char* label, int64_t size, bool is_there) {
    if (is_there) Vector(label, size);
  }
  void Matrix(const char* label, int64_t rows, int64_t columns) { needs_.push_back({Name(label), label, rows, columns, false}); }
  std::vector<TensorNeed> Take() { return std::move(needs_); }

 private:
  std::string Name(const char* label) const { return absl::StrCat("blk.", layer_, ".", label); }

  const int layer_;
  std::vector<TensorNeed> needs_;
};

}  // namespace

std::vector<TensorNeed> LayerNeeds(const ModelConfig& config, int layer) {
  const int64_t queries = int64_t{config.heads} * config.head_size, keys = int64_t{config.kv_heads} * config.head_size;
  const LayerBiases& biases = config.layers[static_cast<size_t>(layer)].biases;
  LayerList list(layer);
  list.Vector("attn_norm.weight", config.width);
  list.Matrix("attn_q.weight", queries, config.width);
  list.Matrix("attn_k.weight", keys, config.width);
  list.Matrix("attn_v.weight", keys, config.width);
  list.Bias("attn_q.bias", queries, biases.query);
  list.Bias("attn_k.bias", keys, biases.key);
  list.Bias("attn_v.bias", keys, biases.value);
  if (config.query_key_norm) {
    list.Vector("attn_q_norm.weight", config.head_size);
    list.Vector("attn_k_norm.weight", config.head_size);
  }
  list.Matrix("attn_output.weight", config.width, queries);
  list.Bias("attn_output.bias", config.width, biases.output);
  if (config.post_norms) list.Vector("post_attention_norm.weight", config.width);
  list.Vector("ffn_norm.weight", config.width);
  list.Matrix("ffn_gate.weight", config.feed_forward, config.width);
  list.Matrix("ffn_up.weight", config.feed_forward, config.width);
  list.Bias("ffn_gate.bias", config.feed_forward, biases.gate);
  list.Bias("ffn_up.bias", config.feed_forward, biases.up);
  list.Matrix("ffn_down.weight", config.width, config.feed_forward);
  list.Bias("ffn_down.bias", config.width, biases.down);
  if (config.post_norms) list.Vector("post_ffw_norm.weight", config.width);
  return list.Take();
}

TensorNeed EmbeddingNeed(const ModelConfig& config) {
  return {"token_embd.weight", "token_embd.weight", config.vocabulary, config.width, false};
}

TensorNeed OutputNormNeed(const ModelConfig& config) { return {"output_norm.weight", "output_norm.weight", 1, config.width, true}; }

TensorNeed HeadNeed(const ModelConfig& config) {
  if (config.tied_head) return EmbeddingNeed(config);
  return {"output.weight", "output.weight", config.vocabulary, config.width, false};
}

TensorNeed HeadBiasNeed(const ModelConfig& config) { return {"output.bias", "output.bias", 1, config.vocabulary, true}; }

std::vector<TensorNeed> AllNeeds(const ModelConfig& config) {
  std::vector<TensorNeed> all = {EmbeddingNeed(config), OutputNormNeed(config)};
  if (!config.tied_head) all.push_back(HeadNeed(config));
  if (config.head_bias) all.push_back(HeadBiasNeed(config));
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    for (TensorNeed& need : LayerNeeds(config, layer)) all.push_back(std::move(need));
  }
  return all;
}

std::array<int64_t, 4> PaddedShape(const GgufTensor& tensor) {
  std::array<int64_t, 4> padded = {1, 1, 1, 1};
  std::copy_n(tensor.shape.begin(), std::min(tensor.shape.size(), padded.size()), padded.begin());
  return padded;
}

absl::StatusOr<const GgufTensor*> FindNeeded(const GgufFile& file, const TensorNeed& need) {
  const GgufTensor* tensor = file.FindTensor(need.name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), ": tensor ", need.name, ": missing, expected ", need.rows, " x ", need.columns));
  }
  const auto expected = need.vector ? std::vector<int64_t>{need.columns} : std::vector<int64_t>{need.columns, need.rows};
  if (PaddedShape(*tensor) == std::array<int64_t, 4>{need.columns, need.vector ? 1 : need.rows, 1, 1}) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(file.PathOf(*tensor), ": tensor ", need.name, ": shape at byte ",
                                                 tensor->shape_offset, ": found [", absl::StrJoin(tensor->shape, ", "),
                                                 "], expected [", absl::StrJoin(expected, ", "), "]"));
}

}  // namespace tessera
