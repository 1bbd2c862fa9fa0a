#include "tessera/apps/bench/models/random_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/models/random_vocabulary.h"
#include "tessera/base/random.h"
#include "tessera/model/files/file_type.h"
#include "tessera/model/files/quantize_numbers.h"

namespace tessera {
namespace {

// `1b` is Llama 3.2 1B with a vocabulary of 32,000 instead of 128,256, which leaves 1.04 billion parameters, with the head tied like in the
// original. `4b` has the width of Llama 3.2 3B, 40 layers and a separate head: 4.22 billion. The third shape is made in a moment. All
// inputs are whole blocks of 256, so that every format is possible.
constexpr RandomShape kShapes[] = {
    {"1b", 2048, 16, 32, 8, 64, 8192, 32000, true},
    {"4b", 3072, 40, 24, 8, 128, 8192, 32000, false},
    {"tiny", 256, 2, 4, 2, 64, 512, 512, true},
};
constexpr uint32_t kContext = 16384;

}  // namespace

// Adds four uniform variables of 16 bits. The sums are exact.
float NearNormal(uint64_t bits) {
  constexpr float kMean = 4 * 32767.5f, kInverseDeviation = 1 / 37837.227f;  // 2 * 2^16 / sqrt(12).
  const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<float>(sum) - kMean) * kInverseDeviation;
}

absl::StatusOr<RandomShape> RandomShapeByName(absl::string_view name) {
  std::string known;
  for (const RandomShape& shape : kShapes) {
    if (name == shape.name) return shape;
    absl::StrAppend(&known, known.empty() ? "" : ", ", shape.name);
  }
  return absl::NotFoundError(absl::StrCat("found \"", name, "\", expected one of ", known));
}

RandomModel::RandomModel(const Options& options) : options_(options) {
  const RandomShape& shape = options.shape;
  PutMetadata();
  AddMatrix("token_embd", options.head_format, shape.width, shape.vocabulary);
  for (int layer = 0; layer < shape.layers; ++layer) AddLayer(layer);
  AddNorm("output_norm");
  if (!shape.tied_head) AddMatrix("output", options.head_format, shape.width, shape.vocabulary);
}

void RandomModel::PutMetadata() {
  const RandomShape& shape = options_.shape;
  const auto number = [this](const char* key, int value) {
    writer_.Number(absl::StrCat("llama.", key), static_cast<uint32_t>(value));
  };
  writer_.String("general.architecture", "llama").String("general.name", absl::StrCat("random ", shape.name));
  writer_.String("general.type", "model").Number("general.file_type", FileTypeOf(options_.format));
  writer_.Number<uint32_t>("general.quantization_version", 2);  // The version of the block formats.
  number("context_length", kContext);
  number("embedding_length", shape.width);
  number("block_count", shape.layers);
  number("feed_forward_length", shape.feed_forward);
  number("attention.head_count", shape.heads);
  number("attention.head_count_kv", shape.kv_heads);
  number("attention.key_length", shape.head_size);
  number("attention.value_length", shape.head_size);
  number("rope.dimension_count", shape.head_size);
  number("vocab_size", shape.vocabulary);
  writer_.Number("llama.attention.layer_norm_rms_epsilon", 1e-5f).Number("llama.rope.freq_base", 500'000.0f);
  MakeRandomVocabulary(shape.vocabulary).PutInto(writer_);
}

void RandomModel::AddNorm(const std::string& name) {
  const int64_t width = options_.shape.width;
  writer_.Tensor(absl::StrCat(name, ".weight"), BlockFormat::kF32, {width});
  tensors_.push_back({name + ".weight", BlockFormat::kF32, width, 1, /*mean=*/1, /*deviation=*/0.1f});
  parameters_ += width;
}

void RandomModel::AddMatrix(const std::string& name, BlockFormat format, int64_t in_features, int64_t out_features) {
  writer_.Tensor(absl::StrCat(name, ".weight"), format, {in_features, out_features});
  tensors_.push_back({name + ".weight", format, in_features, out_features, /*mean=*/0, 1 / std::sqrt(static_cast<float>(in_features))});
  parameters_ += in_features * out_features;
}

void RandomModel::AddLayer(int layer) {
  const RandomShape& shape = options_.shape;
  const BlockFormat format = options_.format;
  const std::string prefix = absl::StrCat("blk.", layer, ".");
  const int queries = shape.heads * shape.head_size, keys = shape.kv_heads * shape.head_size;
  AddNorm(prefix + "attn_norm");
  AddMatrix(prefix + "attn_q", format, shape.width, queries);
  AddMatrix(prefix + "attn_k", format, shape.width, keys);
  AddMatrix(prefix + "attn_v", format, shape.width, keys);
  AddMatrix(prefix + "attn_output", format, queries, shape.width);
  AddNorm(prefix + "ffn_norm");
  AddMatrix(prefix + "ffn_gate", format, shape.width, shape.feed_forward);
  AddMatrix(prefix + "ffn_up", format, shape.width, shape.feed_forward);
  AddMatrix(prefix + "ffn_down", format, shape.feed_forward, shape.width);
}

void RandomModel::Fill(int tensor, Share part, float* out) const {
  const Tensor& of = tensors_[tensor];
  for (int64_t i = part.begin; i < part.end; ++i) {
    const uint64_t bits = CounterRandom(options_.seed, static_cast<uint64_t>(tensor), static_cast<uint64_t>(i));
    *out++ = of.mean + of.deviation * NearNormal(bits);
  }
}

absl::Status RandomModel::AppendTensor(int tensor, ThreadPool& pool, GgufWriter::Append append) const {
  const Tensor& of = tensors_[tensor];
  const auto fill = [&](Share part, float* out) {
    Fill(tensor, part, out);
    return absl::OkStatus();
  };
  return QuantizeNumbers({of.name, of.format, of.rows * of.columns}, pool, fill, append);
}

absl::Status RandomModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return AppendTensor(tensor, pool, append); }, progress);
}

}  // namespace tessera
