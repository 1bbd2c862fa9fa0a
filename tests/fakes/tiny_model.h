// A whole random model, small enough to build in a test: any architecture, any block formats, a byte-level vocabulary of 265 tokens.
//
//   GgufBuilder builder = TinyModelBuilder({.architecture = "qwen3", .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0}});
//   const std::string bytes = builder.Build();                       // or builder.WriteTo(path), or Corrupt a field first
//
// The matrices take `formats` in turn, so that the matrices of one product differ. K formats need sizes that are multiples of 256. Weights
// keep a row's numbers near 1 from layer to layer, and every token and position changes the logits.
#pragma once

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/random_blocks.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {

struct TinyModel {
  std::string architecture = "llama";
  int width = 64;
  int feed_forward = 96;
  int heads = 4;
  int kv_heads = 2;
  int head_size = 16;
  int layers = 2;
  int context = 128;
  int window = 0;                     // Window of gemma3's local layers.
  bool tied = false;                  // The head is the embedding table.
  bool writes_letters = false;        // The head is FP32, and only lower-case letters have logits other than 0.
  std::vector<BlockFormat> formats = {BlockFormat::kQ8_0};
  // In addition to the biases that the architecture's models usually have: "attn_output.bias", "output.bias".
  std::set<std::string> biases;
  std::set<std::string> without;      // Tensors left out, to test for missing tensors.
  uint64_t seed = 1;
};
constexpr int kTinyVocabulary = 265;  // As in SmallBytePair: not a multiple of 32.

// Returns the biases of a llama with a bias on each product of a layer.
inline std::set<std::string> AllLayerBiases() {
  return {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"};
}

class TinyModelWriter {
 public:
  explicit TinyModelWriter(const TinyModel& model) : model_(model) {}

  GgufBuilder Write() && {
    WriteMetadata();
    Matrix("token_embd.weight", kTinyVocabulary, model_.width, /*scale=*/1);
    for (int layer = 0; layer < model_.layers; ++layer) WriteLayer("blk." + std::to_string(layer) + ".");
    Vector("output_norm.weight", model_.width, 1);
    if (model_.writes_letters) {
      LetterHead();
    } else if (!model_.tied) {
      Matrix("output.weight", kTinyVocabulary, model_.width, Scale(model_.width));
    }
    if (model_.biases.count("output.bias") > 0) Vector("output.bias", kTinyVocabulary, 0);
    return std::move(builder_);
  }

 private:
  static float Scale(int inputs) { return std::sqrt(3.0f / static_cast<float>(inputs)); }  // Variance 1 in, variance 1 out.
  bool Is(const char* architecture) const { return model_.architecture == architecture; }

  void WriteMetadata() {
    const std::string prefix = model_.architecture + ".";
    builder_.String("general.architecture", model_.architecture);
    const auto put = [&](const char* key, int value) { builder_.Number(prefix + key, static_cast<uint32_t>(value)); };
    put("context_length", model_.context);
    put("embedding_length", model_.width);
    put("feed_forward_length", model_.feed_forward);
    put("block_count", model_.layers);
    put("attention.head_count", model_.heads);
    put("attention.head_count_kv", model_.kv_heads);
    put("attention.key_length", model_.head_size);
    put("attention.value_length", model_.head_size);
    if (model_.window > 0) put("attention.sliding_window", model_.window);
    builder_.Number(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
    AddTo(builder_, SmallBytePair());
  }

  void WriteLayer(const std::string& block) {
    const int queries = model_.heads * model_.head_size, keys = model_.kv_heads * model_.head_size;
    const bool norms = Is("qwen3") || Is("gemma3");
    Vector(block + "attn_norm.weight", model_.width, 1);
    Matrix(block + "attn_q.weight", queries, model_.width, Scale(model_.width));
    Matrix(block + "attn_k.weight", keys, model_.width, Scale(model_.width));
    Matrix(block + "attn_v.weight", keys, model_.width, Scale(model_.width));
    Bias(block, "attn_q.bias", queries, Is("qwen2"));
    Bias(block, "attn_k.bias", keys, Is("qwen2"));
    Bias(block, "attn_v.bias", keys, Is("qwen2"));
    if (norms) Vector(block + "attn_q_norm.weight", model_.head_size, 1);
    if (norms) Vector(block + "attn_k_norm.weight", model_.head_size, 1);
    Matrix(block + "attn_output.weight", model_.width, queries, Scale(queries));
    Bias(block, "attn_output.bias", model_.width);
    if (Is("gemma3")) Vector(block + "post_attention_norm.weight", model_.width, 1);
    Vector(block + "ffn_norm.weight", model_.width, 1);
    Matrix(block + "ffn_gate.weight", model_.feed_forward, model_.width, Scale(model_.width));
    Matrix(block + "ffn_up.weight", model_.feed_forward, model_.width, Scale(model_.width));
    Bias(block, "ffn_gate.bias", model_.feed_forward);
    Bias(block, "ffn_up.bias", model_.feed_forward);
    Matrix(block + "ffn_down.weight", model_.width, model_.feed_forward, 2 * Scale(model_.feed_forward));
    Bias(block, "ffn_down.bias", model_.width);
    if (Is("gemma3")) Vector(block + "post_ffw_norm.weight", model_.width, 1);
  }

  void Bias(const std::string& block, const char* label, int size, bool usual = false) {
    if (usual || model_.biases.count(label) > 0) Vector(block + label, size, 0);
  }

  void Matrix(const std::string& name, int rows, int columns, float scale) {
    const BlockFormat format = model_.formats[matrices_++ % model_.formats.size()];
    Add(name, {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)}, format,
        RandomBlocks(format, int64_t{rows} * columns, NextSeed(), scale));
  }

  void LetterHead() {
    const size_t row = model_.width * sizeof(float);
    std::vector<std::byte> head(kTinyVocabulary * row);
    const std::vector<std::byte> rows = RandomBlocks(BlockFormat::kF32, 26 * int64_t{model_.width}, NextSeed(), Scale(model_.width));
    std::copy(rows.begin(), rows.end(), head.begin() + 'a' * row);
    Add("output.weight", {static_cast<uint64_t>(model_.width), kTinyVocabulary}, BlockFormat::kF32, head);
  }

  // Adds numbers within half of `around`.
  void Vector(const std::string& name, int size, float around) {
    SeededRandom random(NextSeed());
    std::vector<float> values(size);
    for (float& value : values) value = around + random.Uniform(-0.5f, 0.5f);
    const std::byte* data = reinterpret_cast<const std::byte*>(values.data());
    Add(name, {static_cast<uint64_t>(size)}, BlockFormat::kF32, {data, data + values.size() * sizeof(float)});
  }

  void Add(const std::string& name, const std::vector<uint64_t>& shape, BlockFormat format, const std::vector<std::byte>& bytes) {
    if (model_.without.count(name) > 0) return;
    builder_.Tensor(name, shape, InfoOf(format).gguf_type, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  uint64_t NextSeed() { return model_.seed * 1000 + tensors_++; }

  const TinyModel model_;
  GgufBuilder builder_;
  size_t matrices_ = 0;
  uint64_t tensors_ = 0;
};

inline GgufBuilder TinyModelBuilder(const TinyModel& model) { return TinyModelWriter(model).Write(); }

}  // namespace tessera
