// A model of the llama architecture in double precision, row after row. Each row attends to the rows that the test names: the reference for
// a pass, without slots and paths.
//
//   PlainLlama model(TinyModelBuilder({}).Build());
//   const int first = model.Run({.token = 72, .position = 0, .sees = {}});                 // its number; a row sees itself, too
//   const int second = model.Run({.embedding = numbers, .position = 5, .sees = {first}, .sees_prefix = true});
//   model.Logits(second);                                                                  // [vocabulary]
//
// Norms are FP32, there are no biases, and RoPE is plain. Thread-compatible.
#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/forecasts.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

class PlainLlama {
 public:
  using Numbers = std::vector<double>;
  struct Row {
    TokenId token = 0;
    std::vector<float> embedding = {};   // Replaces the token's embedding, if not empty.
    int position = 0;
    std::vector<int> sees = {};          // Earlier rows.
    bool sees_prefix = false;
  };

  explicit PlainLlama(std::string gguf) : bytes_(std::move(gguf)) {
    file_ = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}, "plain"));
    config_ = Must(ReadModelConfig(*file_));
    keys_.resize(config_.layers.size()), values_.resize(config_.layers.size());
  }
  const ModelConfig& config() const { return config_; }
  // Sets keys and values for rows with sees_prefix.
  void SetPrefix(std::shared_ptr<const Forecasts> forecasts) { prefix_ = std::move(forecasts); }

  int Run(const Row& row) {
    const Numbers& table = Tensor("token_embd.weight");
    const auto width = static_cast<size_t>(config_.width);
    Numbers x(row.embedding.begin(), row.embedding.end());
    if (x.empty()) x.assign(table.begin() + row.token * config_.width, table.begin() + (row.token + 1) * config_.width);
    CHECK_EQ(x.size(), width);
    for (int layer = 0; layer < static_cast<int>(config_.layers.size()); ++layer) x = RunLayer(layer, row, x);
    hidden_.push_back(std::move(x));
    return static_cast<int>(hidden_.size()) - 1;
  }

  Numbers Logits(int row) {
    return Times(Tensor(config_.tied_head ? "token_embd.weight" : "output.weight"),
                 Norm(hidden_[static_cast<size_t>(row)], Tensor("output_norm.weight")));
  }

 private:
  const Numbers& Tensor(const std::string& name) {
    Numbers& numbers = tensors_[name];
    if (!numbers.empty()) return numbers;
    const GgufTensor* const tensor = file_->FindTensor(name);
    CHECK(tensor != nullptr) << name;
    std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
    Must(file_->Read(*tensor, 0, absl::MakeSpan(bytes)));
    int64_t count = 1;
    for (const int64_t length : tensor->shape) count *= length;
    std::vector<float> floats(static_cast<size_t>(count));
    tensor->format->dequantize(bytes.data(), count, floats.data());
    numbers.assign(floats.begin(), floats.end());
    return numbers;
  }

  static Numbers Times(const Numbers& matrix, const Numbers& x) {
    Numbers y(matrix.size() / x.size());
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t c = 0; c < x.size(); ++c) y[r] += matrix[r * x.size() + c] * x[c];
    }
    return y;
  }

  Numbers Norm(const Numbers& x, const Numbers& weight) const {
    double sum = 0;
    for (const double number : x) sum += number * number;
    const double scale = 1 / std::sqrt(sum / static_cast<double>(x.size()) + double{config_.norm_epsilon});
    Numbers y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
    return y;
  }

  // Rotates pairs of neighbours.
  Numbers Turned(Numbers x, int position) const {
    const size_t size = static_cast<size_t>(config_.head_size);
    for (size_t i = 0; i + 1 < x.size(); i += 2) {
      const double angle = position * std::pow(config_.ropes[0].base, -static_cast<double>(i % size) / static_cast<double>(size));
      const double a = x[i], b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
    return x;
  }

  // Returns the keys, or values, of all rows that a row attends to in a layer, the row itself last.
  std::vector<Numbers> SeenBy(const Row& row, const std::vector<Numbers>& of_rows, absl::Span<const float> of_prefix) const {
    std::vector<Numbers> seen;
    const auto columns = static_cast<size_t>(config_.kv_heads * config_.head_size);
    for (size_t i = 0; row.sees_prefix && i < of_prefix.size(); i += columns) {
      seen.emplace_back(of_prefix.begin() + static_cast<long>(i), of_prefix.begin() + static_cast<long>(i + columns));
    }
    for (const int other : row.sees) seen.push_back(of_rows[static_cast<size_t>(other)]);
    seen.push_back(of_rows.back());
    return seen;
  }

  Numbers Attend(const Numbers& query, const std::vector<Numbers>& keys, const std::vector<Numbers>& values) const {
    const size_t size = static_cast<size_t>(config_.head_size), group = static_cast<size_t>(config_.heads / config_.kv_heads);
    Numbers mixed(query.size());
    for (size_t head = 0; head < static_cast<size_t>(config_.heads); ++head) {
      const size_t from = head * size, of = head / group * size;
      Numbers shares(keys.size());
      double sum = 0;
      for (size_t i = 0; i < keys.size(); ++i) {
        for (size_t d = 0; d < size; ++d) shares[i] += query[from + d] * keys[i][of + d];
        sum += shares[i] = std::exp(shares[i] / std::sqrt(static_cast<double>(size)));
      }
      for (size_t i = 0; i < keys.size(); ++i) {
        for (size_t d = 0; d < size; ++d) mixed[from + d] += shares[i] / sum * values[i][of + d];
      }
    }
    return mixed;
  }

  Numbers RunLayer(int layer, const Row& row, Numbers x) {
    const auto tensor = [&](const char* name) -> const Numbers& { return Tensor(absl::StrCat("blk.", layer, ".", name, ".weight")); };
    std::vector<Numbers>&keys = keys_[static_cast<size_t>(layer)], &values = values_[static_cast<size_t>(layer)];
    const Numbers normed = Norm(x, tensor("attn_norm"));
    keys.push_back(Turned(Times(tensor("attn_k"), normed), row.position));
    values.push_back(Times(tensor("attn_v"), normed));
    const absl::Span<const float> none;
    const Numbers mixed = Attend(Turned(Times(tensor("attn_q"), normed), row.position),
                                 SeenBy(row, keys, prefix_ == nullptr ? none : prefix_->keys(layer)),
                                 SeenBy(row, values, prefix_ == nullptr ? none : prefix_->values(layer)));
    Add(Times(tensor("attn_output"), mixed), x);
    const Numbers inner = Norm(x, tensor("ffn_norm"));
    Numbers gate = Times(tensor("ffn_gate"), inner);
    const Numbers up = Times(tensor("ffn_up"), inner);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    Add(Times(tensor("ffn_down"), gate), x);
    return x;
  }

  static void Add(const Numbers& more, Numbers& x) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += more[i];
  }

  const std::string bytes_;
  std::unique_ptr<GgufFile> file_;
  ModelConfig config_;
  std::map<std::string, Numbers> tensors_;
  std::shared_ptr<const Forecasts> prefix_;
  std::vector<std::vector<Numbers>> keys_, values_;   // [layer][row]
  std::vector<Numbers> hidden_;                       // [row]
};

}  // namespace tessera
