// A decoder with the adapters of PEFT folders in double precision, whose products add up: the reference for logits.
//
//   const AdapterTruth truth(GoldenPath("tiny/llama.gguf"), GoldenPath("lora/llama-all"), /*factor=*/0.5);
//   truth.Logits({3, 1, 4});                                                   // [token][vocabulary]
//   const AdapterTruth both(GoldenPath("tiny/llama.gguf"), {{GoldenPath("lora/llama-all"), 1}, {GoldenPath("lora/llama-qv"), 0.5}});
//
// The two containers (GGUF and safetensors) are shared with the engine; reading adapters is not. Rows of queries and keys are put in
// Hugging Face's order, as the folder's B orders rows, and heads turn in this order. For RoPE without scaling, models without biases, and
// folders that name neither patterns nor layers. An empty folder is no adapter. Thread-compatible.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

class AdapterTruth {
 public:
  using Numbers = std::vector<double>;
  using Rows = std::vector<Numbers>;

  struct Part { std::string folder = {}; double factor = 1; };

  AdapterTruth(const std::string& model, const std::vector<Part>& parts)
      : file_(Must(GgufFile::Open(model))), config_(Must(ReadModelConfig(*file_))) {
    for (const auto& [folder, factor] : parts) {
      std::ifstream in(folder + "/adapter_config.json");
      const JsonValue json = Must(JsonValue::Parse(std::string(std::istreambuf_iterator<char>(in), {})));
      const double rank = Must(json.Double("r"));
      adapters_.push_back({.file = Must(SafetensorsFile::Open(folder + "/adapter_model.safetensors")),
                           .scale = factor * Must(json.Double("lora_alpha")) / (Must(json.Bool("use_rslora")) ? std::sqrt(rank) : rank)});
    }
  }
  AdapterTruth(const std::string& model, const std::string& folder, double factor)
      : AdapterTruth(model, folder.empty() ? std::vector<Part>() : std::vector<Part>{{folder, factor}}) {}

  Rows Logits(const std::vector<TokenId>& tokens) const {
    const std::vector<float> table = Tensor("token_embd.weight");
    Rows x;
    for (const TokenId token : tokens) x.emplace_back(table.begin() + token * config_.width, table.begin() + (token + 1) * config_.width);
    for (int layer = 0; layer < static_cast<int>(config_.layers.size()); ++layer) RunLayer(layer, x);
    return Product(config_.tied_head ? table : Tensor("output.weight"), Normed(x, "output_norm"));
  }

 private:
  std::vector<float> Tensor(const std::string& name) const {
    const GgufTensor* const tensor = file_->FindTensor(name);
    CHECK(tensor != nullptr) << name;
    std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
    Must(file_->Read(*tensor, 0, absl::MakeSpan(bytes)));
    int64_t count = 1;
    for (const int64_t length : tensor->shape) count *= length;
    std::vector<float> numbers(static_cast<size_t>(count));
    tensor->format->dequantize(bytes.data(), count, numbers.data());
    return numbers;
  }

  // Returns an A or B; empty if there is none.
  static std::vector<float> Half(const SafetensorsFile& file, int layer, const char* module, char half) {
    const SafetensorsTensor* const tensor = file.FindTensor(
        absl::StrCat("base_model.model.model.layers.", layer, ".", module, ".lora_", std::string(1, half), ".weight"));
    if (tensor == nullptr) return {};
    std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
    Must(file.Read(*tensor, 0, absl::MakeSpan(bytes)));
    std::vector<float> numbers(static_cast<size_t>(tensor->count));
    InfoOf(Must(file.FormatOf(*tensor))).dequantize(bytes.data(), tensor->count, numbers.data());
    return numbers;
  }

  static Rows Product(const std::vector<float>& matrix, const Rows& x) {
    Rows y;
    for (const Numbers& row : x) {
      Numbers& sums = y.emplace_back(matrix.size() / row.size());
      for (size_t r = 0; r < sums.size(); ++r) {
        for (size_t c = 0; c < row.size(); ++c) sums[r] += double{matrix[r * row.size() + c]} * row[c];
      }
    }
    return y;
  }

  // Reorders rows: row 2 j + h of each head of a file becomes row j of half h.
  std::vector<float> InHalves(const std::vector<float>& matrix) const {
    const auto head = static_cast<size_t>(config_.head_size), columns = static_cast<size_t>(config_.width);
    std::vector<float> turned(matrix.size());
    for (size_t row = 0; row < matrix.size() / columns; ++row) {
      const size_t in_head = row % head, to = row - in_head + in_head % 2 * (head / 2) + in_head / 2;
      for (size_t c = 0; c < columns; ++c) turned[to * columns + c] = matrix[row * columns + c];
    }
    return turned;
  }

  // Returns W x + scale B (A x), with a product for each adapter.
  Rows Changed(int layer, const char* name, const char* module, const Rows& x, bool turns = false) const {
    const std::vector<float> weight = Tensor(absl::StrCat("blk.", layer, ".", name, ".weight"));
    Rows y = Product(turns && config_.rope_pairs == RopePairs::kAdjacent ? InHalves(weight) : weight, x);
    for (const Adapter& adapter : adapters_) {
      const std::vector<float> a = Half(*adapter.file, layer, module, 'A');
      if (a.empty()) continue;
      const Rows added = Product(Half(*adapter.file, layer, module, 'B'), Product(a, x));
      for (size_t t = 0; t < y.size(); ++t) {
        for (size_t i = 0; i < y[t].size(); ++i) y[t][i] += adapter.scale * added[t][i];
      }
    }
    return y;
  }

  // Normalizes each `size` numbers separately. Returns x itself for a name that the model does not have.
  Rows Normed(Rows x, const std::string& name, size_t size = 0) const {
    if (file_->FindTensor(name + ".weight") == nullptr) return x;
    const std::vector<float> weight = Tensor(name + ".weight");
    for (Numbers& row : x) {
      const size_t length = size == 0 ? row.size() : size;
      for (size_t begin = 0; begin < row.size(); begin += length) {
        double sum = 0;
        for (size_t i = 0; i < length; ++i) sum += row[begin + i] * row[begin + i];
        const double scale = 1 / std::sqrt(sum / static_cast<double>(length) + double{config_.norm_epsilon});
        for (size_t i = 0; i < length; ++i) row[begin + i] *= scale * double{weight[i]};
      }
    }
    return x;
  }

  // Rotates pairs: number i of a head and number i of the second half.
  Rows Turned(Rows x) const {
    const auto size = static_cast<size_t>(config_.head_size), half = size / 2;
    for (size_t position = 0; position < x.size(); ++position) {
      for (size_t head = 0; head < x[position].size(); head += size) {
        for (size_t i = 0; i < half; ++i) {
          const double turns = std::pow(double{config_.ropes[0].base}, -2.0 * static_cast<double>(i) / static_cast<double>(size));
          const double angle = static_cast<double>(position) * turns;
          double &first = x[position][head + i], &second = x[position][head + half + i];
          const double before = first;
          first = before * std::cos(angle) - second * std::sin(angle);
          second = before * std::sin(angle) + second * std::cos(angle);
        }
      }
    }
    return x;
  }

  Numbers Attend(const Numbers& query, const Rows& keys, const Rows& values, size_t seen) const {
    const auto size = static_cast<size_t>(config_.head_size), group = static_cast<size_t>(config_.heads / config_.kv_heads);
    Numbers mixed(query.size());
    for (size_t head = 0; head < static_cast<size_t>(config_.heads); ++head) {
      const size_t from = head * size, of = head / group * size;
      Numbers shares(seen);
      double sum = 0;
      for (size_t t = 0; t < seen; ++t) {
        for (size_t d = 0; d < size; ++d) shares[t] += query[from + d] * keys[t][of + d];
        sum += shares[t] = std::exp(shares[t] / std::sqrt(static_cast<double>(size)));
      }
      for (size_t t = 0; t < seen; ++t) {
        for (size_t d = 0; d < size; ++d) mixed[from + d] += shares[t] / sum * values[t][of + d];
      }
    }
    return mixed;
  }

  static void Add(Rows& x, const Rows& more) {
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += more[t][i];
    }
  }

  void RunLayer(int layer, Rows& x) const {
    const std::string block = absl::StrCat("blk.", layer, ".");
    const auto size = static_cast<size_t>(config_.head_size);
    const Rows input = Normed(x, block + "attn_norm");
    const Rows queries = Turned(Normed(Changed(layer, "attn_q", "self_attn.q_proj", input, true), block + "attn_q_norm", size));
    const Rows keys = Turned(Normed(Changed(layer, "attn_k", "self_attn.k_proj", input, true), block + "attn_k_norm", size));
    const Rows values = Changed(layer, "attn_v", "self_attn.v_proj", input);
    Rows mixed;
    for (size_t t = 0; t < x.size(); ++t) mixed.push_back(Attend(queries[t], keys, values, t + 1));
    Add(x, Changed(layer, "attn_output", "self_attn.o_proj", mixed));
    const Rows normed = Normed(x, block + "ffn_norm"), up = Changed(layer, "ffn_up", "mlp.up_proj", normed);
    Rows gate = Changed(layer, "ffn_gate", "mlp.gate_proj", normed);
    for (size_t t = 0; t < gate.size(); ++t) {
      for (size_t i = 0; i < gate[t].size(); ++i) gate[t][i] *= up[t][i] / (1 + std::exp(-gate[t][i]));
    }
    Add(x, Changed(layer, "ffn_down", "mlp.down_proj", gate));
  }

  std::unique_ptr<GgufFile> file_;
  ModelConfig config_;
  struct Adapter {
    std::unique_ptr<SafetensorsFile> file = nullptr;
    double scale = 0;
  };
  std::vector<Adapter> adapters_;
};

}  // namespace tessera
