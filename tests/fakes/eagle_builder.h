// Writes small EAGLE-3 heads for tests: valid heads and, after changes to their contents, invalid ones.
//
//   EagleBuilder builder({.width = 64, .target_vocabulary = 265});      // of random numbers, for the tiny models
//   builder.config["hidden_act"] = "\"gelu\"";                          // JSON
//   builder.Of("lm_head.weight").shape = {40, 32};
//   builder.WriteTo(folder.Path("head.safetensors"));                   // and head.safetensors.json
//
// The head's entry i is the model's token first_token + i * step. Thread-compatible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"

namespace tessera {

struct EagleSizes {
  int width = 64;
  int heads = 4;
  int kv_heads = 2;
  int head_size = 16;
  int feed_forward = 96;
  int vocabulary = 40;
  int target_vocabulary = 265;
  int first_token = 2, step = 5;
  std::vector<int> layers = {0, 1, 2};   // As in EagleShape.
  std::string numbers = "F32";           // Or F16, BF16: of matrices.
  bool embeddings = false;
  uint64_t seed = 1;
};

class EagleBuilder {
 public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::string dtype;
    std::string bytes;
  };

  explicit EagleBuilder(const EagleSizes& sizes = {}) : sizes_(sizes), random_(sizes.seed) {
    const int d = sizes.width, queries = sizes.heads * sizes.head_size, keys = sizes.kv_heads * sizes.head_size, f = sizes.feed_forward;
    const std::string layer = "midlayer.", attention = layer + "self_attn.", mlp = layer + "mlp.";
    Matrix("fc.weight", d, static_cast<int>(sizes.layers.size()) * d);
    Matrix(attention + "q_proj.weight", queries, 2 * d);
    Matrix(attention + "k_proj.weight", keys, 2 * d);
    Matrix(attention + "v_proj.weight", keys, 2 * d);
    Matrix(attention + "o_proj.weight", d, queries);
    Matrix(mlp + "gate_proj.weight", f, d);
    Matrix(mlp + "up_proj.weight", f, d);
    Matrix(mlp + "down_proj.weight", d, f);
    for (const char* norm : {"midlayer.input_layernorm.weight", "midlayer.hidden_norm.weight", "midlayer.post_attention_layernorm.weight",
                             "norm.weight"}) {
      Numbers(norm, {d}, "F32", 1, 0.5f);
    }
    Matrix("lm_head.weight", sizes.vocabulary, d, /*scale=*/3);
    if (sizes.embeddings) Matrix("embed_tokens.weight", sizes.target_vocabulary, d);
    Vocabulary();
    Configuration();
  }

  const EagleSizes& sizes() const { return sizes_; }
  int TokenOf(int entry) const { return sizes_.first_token + entry * sizes_.step; }

  std::map<std::string, std::string> config;
  std::string whole_config = "";   // Replaces `config`, if not empty.
  std::vector<Tensor> tensors;

  Tensor& Of(const std::string& name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
    CHECK(found != tensors.end()) << name;
    return *found;
  }
  void Remove(const std::string& name) {
    tensors.erase(std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; }));
  }
  // Gives the tensor another shape, and zeros.
  void Reshape(const std::string& name, std::vector<int64_t> shape) {
    Tensor& tensor = Of(name);
    int64_t bytes = WidthOf(tensor.dtype);
    for (const int64_t length : shape) bytes *= length;
    tensor.shape = std::move(shape), tensor.bytes = std::string(static_cast<size_t>(bytes), '\0');
  }
  template <typename T>
  void Put(const std::string& name, int place, T value) {
    std::memcpy(Of(name).bytes.data() + static_cast<size_t>(place) * sizeof value, &value, sizeof value);
  }

  // Returns the tensor's numbers as a reader gets them.
  std::vector<float> Floats(const std::string& name) {
    const Tensor& tensor = Of(name);
    const size_t width = WidthOf(tensor.dtype);
    std::vector<float> numbers(tensor.bytes.size() / width);
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(width == 4 ? static_cast<void*>(&numbers[i]) : &bits, tensor.bytes.data() + width * i, width);
      if (width == 2) numbers[i] = tensor.dtype == "F16" ? HalfToFloat(bits) : BFloat16ToFloat(bits);
    }
    return numbers;
  }

  std::string Config() const {
    if (!whole_config.empty()) return whole_config;
    return absl::StrCat("{", absl::StrJoin(config, ",", [](std::string* out, const auto& entry) {
                          absl::StrAppend(out, "\"", entry.first, "\":", entry.second);
                        }), "}");
  }

  std::string File() const {
    SafetensorsBuilder file;
    file.entries.clear();
    file.data.clear();
    for (const Tensor& tensor : tensors) {
      const size_t begin = file.data.size();
      file.data += tensor.bytes;
      file.entries.push_back({tensor.name, absl::StrCat("\"", tensor.dtype, "\""), absl::StrCat("[", absl::StrJoin(tensor.shape, ","), "]"),
                              absl::StrCat("[", begin, ",", file.data.size(), "]")});
    }
    return file.Build();
  }

  void WriteTo(const std::string& path) const { WriteTo(path, path + ".json"); }
  void WriteTo(const std::string& path, const std::string& config_path) const {
    for (const auto& [name, contents] : {std::pair(config_path, Config()), {path, File()}}) {
      std::ofstream out(name, std::ios::binary);
      out << contents;
      CHECK(out.flush().good()) << name;
    }
  }

 private:
  static size_t WidthOf(const std::string& dtype) {
    if (dtype == "BOOL") return 1;
    return dtype == "I64" || dtype == "F64" ? 8 : dtype == "F32" || dtype == "I32" ? 4 : 2;
  }

  void Matrix(const std::string& name, int rows, int columns, float scale = 1) {
    Numbers(name, {rows, columns}, sizes_.numbers, 0, scale * std::sqrt(3.0f / static_cast<float>(columns)));
  }

  void Numbers(const std::string& name, std::vector<int64_t> shape, const std::string& dtype, float around, float spread) {
    Tensor tensor = {name, std::move(shape), dtype, ""};
    int64_t count = 1;
    for (const int64_t length : tensor.shape) count *= length;
    for (int64_t i = 0; i < count; ++i) {
      const float value = around + random_.Uniform(-spread, spread);
      if (dtype == "F32") tensor.bytes += SafetensorsBuilder::BytesOf(value);
      else tensor.bytes += SafetensorsBuilder::BytesOf(dtype == "F16" ? FloatToHalf(value) : FloatToBFloat16(value));
    }
    tensors.push_back(std::move(tensor));
  }

  void Vocabulary() {
    Tensor to = {"d2t", {sizes_.vocabulary}, "I64", ""}, mask = {"t2d", {sizes_.target_vocabulary}, "BOOL", ""};
    mask.bytes.assign(static_cast<size_t>(sizes_.target_vocabulary), '\0');
    for (int entry = 0; entry < sizes_.vocabulary; ++entry) {
      to.bytes += SafetensorsBuilder::BytesOf<int64_t>(TokenOf(entry) - entry);
      mask.bytes.at(static_cast<size_t>(TokenOf(entry))) = 1;
    }
    tensors.push_back(std::move(to));
    tensors.push_back(std::move(mask));
  }

  void Configuration() {
    std::vector<int> outputs;
    for (const int layer : sizes_.layers) outputs.push_back(layer - 1);
    config = {{"architectures", "[\"LlamaForCausalLMEagle3\"]"},
              {"hidden_size", absl::StrCat(sizes_.width)},
              {"num_attention_heads", absl::StrCat(sizes_.heads)},
              {"num_key_value_heads", absl::StrCat(sizes_.kv_heads)},
              {"head_dim", absl::StrCat(sizes_.head_size)},
              {"intermediate_size", absl::StrCat(sizes_.feed_forward)},
              {"num_hidden_layers", "1"},
              {"vocab_size", absl::StrCat(sizes_.target_vocabulary)},
              {"draft_vocab_size", absl::StrCat(sizes_.vocabulary)},
              {"rms_norm_eps", "1e-05"},
              {"rope_theta", "10000"},
              {"hidden_act", "\"silu\""},
              {"eagle_config", absl::StrCat("{\"eagle_aux_hidden_state_layer_ids\":[", absl::StrJoin(outputs, ","), "]}")}};
  }

  const EagleSizes sizes_;
  SeededRandom random_;
};

}  // namespace tessera
