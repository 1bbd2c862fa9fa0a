#include "tessera/apps/lab/models/around_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/quantize.h"
#include "tessera/model/files/quantize_numbers.h"

namespace tessera {
namespace {

constexpr char kArchitecture[] = "llama";   // Other architectures scale embeddings by the width, or norm whole queries.
constexpr uint32_t kBlocksVersion = 2;

absl::Status Refused(const GgufFile& file, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", problem));
}

absl::Status CheckAtMost(const GgufFile& file, absl::string_view what, int64_t found, int64_t most, const RandomShape& shape) {
  if (found <= most) return absl::OkStatus();
  return Refused(file, absl::StrCat(what, ": found ", found, ", expected at most ", most, ", that of the shape ", shape.name));
}

absl::Status CheckModel(const GgufFile& file, const ModelConfig& small, const RandomShape& shape) {
  if (small.architecture != kArchitecture) {
    return Refused(file, absl::StrCat("found the architecture ", small.architecture, ", expected ", kArchitecture));
  }
  for (const LayerConfig& layer : small.layers) {
    if (layer.window > 0) return Refused(file, absl::StrCat("found a window of ", layer.window, " positions, expected layers without"));
  }
  RETURN_IF_ERROR(CheckAtMost(file, "width", small.width, shape.width, shape));
  RETURN_IF_ERROR(CheckAtMost(file, "layers", static_cast<int64_t>(small.layers.size()), shape.layers, shape));
  return CheckAtMost(file, "feed-forward rows", small.feed_forward, shape.feed_forward, shape);
}

// Returns the large model's configuration. Each head of keys and values has as many query heads as in the small model, or query heads would
// find the keys of others.
ModelConfig GrownTo(const RandomShape& shape, const ModelConfig& small) {
  ModelConfig grown = small;
  grown.width = shape.width;
  grown.feed_forward = shape.feed_forward;
  grown.kv_heads = std::max(small.kv_heads, shape.kv_heads * shape.head_size / small.head_size);
  grown.heads = grown.kv_heads * (small.heads / small.kv_heads);
  grown.norm_epsilon = static_cast<float>(static_cast<double>(small.norm_epsilon) * small.width / shape.width);
  grown.layers.assign(static_cast<size_t>(shape.layers), small.layers[0]);
  return grown;
}

// Whether numbers other than zero would reach the hidden states, or a sum.
bool IsZeroOutside(absl::string_view label) {
  return label == "attn_output.weight" || label == "ffn_down.weight" || label == "token_embd.weight" || absl::EndsWith(label, ".bias");
}

bool IsNorm(absl::string_view label) { return absl::EndsWith(label, "norm.weight"); }

int64_t BytesOfNumbers(BlockFormat format, int64_t numbers) {
  const BlockFormatInfo& info = InfoOf(format);
  return numbers / info.values_per_block * info.bytes_per_block;
}

}  // namespace

// Passes on a matrix's bytes, which come in order, part by part. A block of the small model replaces the new block at the same place.
class AroundModel::Joint {
 public:
  Joint(const GgufFile& file, const Tensor& tensor, GgufWriter::Append append)
      : file_(file), tensor_(tensor), append_(append), row_bytes_(BytesOfNumbers(tensor.format, tensor.columns)),
        source_row_bytes_(BytesOfNumbers(tensor.format, tensor.source_columns)) {}

  absl::Status Append(absl::Span<const std::byte> bytes) {
    piece_.assign(bytes.begin(), bytes.end());
    const int64_t end = at_ + static_cast<int64_t>(bytes.size());
    for (int64_t row = at_ / row_bytes_; row < tensor_.source_rows && row * row_bytes_ < end; ++row) {
      const int64_t first = row * row_bytes_;
      const int64_t from = std::max(at_, first), to = std::min(end, first + source_row_bytes_);
      if (from >= to) continue;
      const absl::Span<std::byte> own = absl::MakeSpan(piece_).subspan(static_cast<size_t>(from - at_), static_cast<size_t>(to - from));
      RETURN_IF_ERROR(file_.Read(*tensor_.source, row * source_row_bytes_ + from - first, own));
    }
    at_ = end;
    return append_(piece_);
  }

 private:
  const GgufFile& file_;
  const Tensor& tensor_;
  const GgufWriter::Append append_;
  const int64_t row_bytes_, source_row_bytes_;
  int64_t at_ = 0;                  // Bytes of the tensor before the next part.
  std::vector<std::byte> piece_;
};

std::optional<int> AroundModel::SmallLayer(int layer, int layers, int small) {
  const int64_t before = int64_t{layer} * small / layers, behind = (int64_t{layer} + 1) * small / layers;
  return behind > before ? std::optional<int>(static_cast<int>(before)) : std::nullopt;
}

absl::StatusOr<AroundModel> AroundModel::Plan(const GgufFile& file, const RandomShape& shape, uint64_t seed) {
  ASSIGN_OR_RETURN(const ModelConfig small, ReadModelConfig(file));
  RETURN_IF_ERROR(CheckModel(file, small, shape));
  RETURN_IF_ERROR(QuantizedModel::Plan(file, {}).status());   // All tensors are known.
  AroundModel model(file, GrownTo(shape, small), seed);
  model.norm_factor_ = static_cast<float>(std::sqrt(static_cast<double>(small.width) / shape.width));
  model.PutMetadata(small, shape);
  RETURN_IF_ERROR(model.AddTensors(small));
  if (const absl::Status fits = model.writer_.FileSize().status(); !fits.ok()) return Refused(file, fits.message());
  return model;
}

void AroundModel::PutMetadata(const ModelConfig& small, const RandomShape& shape) {
  const auto full = [&](const char* key) { return absl::StrCat(small.architecture, ".", key); };
  std::vector<std::pair<std::string, int>> sizes = {{full("embedding_length"), config_.width},
                                                    {full("block_count"), static_cast<int>(config_.layers.size())},
                                                    {full("feed_forward_length"), config_.feed_forward},
                                                    {full("attention.head_count"), config_.heads},
                                                    {full("attention.head_count_kv"), config_.kv_heads},
                                                    {full("attention.key_length"), config_.head_size},
                                                    {full("attention.value_length"), config_.head_size}};
  if (file_->Find(full("embedding_length_out")) != nullptr) sizes.emplace_back(full("embedding_length_out"), config_.width);
  const std::string epsilon = full("attention.layer_norm_rms_epsilon"), name = "general.name", version = "general.quantization_version";
  std::set<std::string> own = {epsilon, name, version, "general.alignment", "general.size_label", "general.parameter_count"};
  for (const auto& [key, number] : sizes) own.insert(key);
  for (const auto& [key, value] : file_->metadata()) {
    if (!absl::StartsWith(key, "split.") && own.count(std::string(key)) == 0) writer_.Copy(key, value);
  }
  const absl::StatusOr<absl::string_view> small_name = file_->String(name);
  writer_.String(name, absl::StrCat(small_name.ok() ? *small_name : "a model", " within random ", shape.name));
  for (const auto& [key, number] : sizes) writer_.Number(key, static_cast<uint32_t>(number));
  writer_.Number(epsilon, config_.norm_epsilon);
  if (const GgufValue* const given = file_->Find(version); given != nullptr) writer_.Copy(version, *given);
  else writer_.Number(version, kBlocksVersion);
}

absl::Status AroundModel::AddTensors(const ModelConfig& small) {
  RETURN_IF_ERROR(Add(EmbeddingNeed(config_), EmbeddingNeed(small), /*is_new=*/false));
  for (int layer = 0; layer < static_cast<int>(config_.layers.size()); ++layer) RETURN_IF_ERROR(AddLayer(small, layer));
  RETURN_IF_ERROR(Add(OutputNormNeed(config_), OutputNormNeed(small), false));
  if (!small.tied_head) RETURN_IF_ERROR(Add(HeadNeed(config_), HeadNeed(small), false));
  if (small.head_bias) RETURN_IF_ERROR(Add(HeadBiasNeed(config_), HeadBiasNeed(small), false));
  const GgufTensor* const factors = file_->FindTensor(kRopeFactors);
  if (factors == nullptr) return absl::OkStatus();
  const TensorNeed need = {kRopeFactors, kRopeFactors, 1, PaddedShape(*factors)[0], /*vector=*/true};
  return Add(need, need, false);
}

absl::Status AroundModel::AddLayer(const ModelConfig& small, int layer) {
  const int layers = static_cast<int>(config_.layers.size()), small_layers = static_cast<int>(small.layers.size());
  const std::optional<int> own = SmallLayer(layer, layers, small_layers);
  // For a new layer, the next layer of the small model.
  const int like = own.value_or(static_cast<int>(int64_t{layer} * small_layers / layers));
  config_.layers[static_cast<size_t>(layer)] = small.layers[static_cast<size_t>(like)];
  const std::vector<TensorNeed> needs = LayerNeeds(config_, layer), small_needs = LayerNeeds(small, like);
  for (size_t i = 0; i < needs.size(); ++i) RETURN_IF_ERROR(Add(needs[i], small_needs[i], !own.has_value()));
  return absl::OkStatus();
}

absl::Status AroundModel::Add(const TensorNeed& need, const TensorNeed& small, bool is_new) {
  ASSIGN_OR_RETURN(const GgufTensor* const source, FindNeeded(*file_, small));
  const BlockFormat format = source->format->format;
  const std::string place = absl::StrCat("tensor ", small.name, ": ");
  if (need.vector && format != BlockFormat::kF32) {
    return Refused(*file_, absl::StrCat(place, "found ", source->format->name, ", expected F32"));
  }
  if (const absl::Status written = CheckWritten(format); !written.ok()) return Refused(*file_, absl::StrCat(place, written.message()));
  const bool norm = IsNorm(need.label);
  tensors_.push_back({.name = need.name,
                      .format = format,
                      .columns = need.columns,
                      .rows = need.rows,
                      .source = is_new ? nullptr : source,
                      .source_columns = is_new ? 0 : small.columns,
                      .source_rows = is_new ? 0 : small.rows,
                      .vector = need.vector,
                      .zero = IsZeroOutside(need.label),
                      .mean = norm ? 1.0f : 0.0f,
                      .deviation = norm ? 0.1f : 1 / std::sqrt(static_cast<float>(need.columns)),
                      .factor = norm ? norm_factor_ : 1.0f});
  writer_.Tensor(need.name, format, need.vector ? std::vector<int64_t>{need.columns} : std::vector<int64_t>{need.columns, need.rows});
  parameters_ += need.columns * need.rows;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> AroundModel::ScaledNumbers(const Tensor& tensor) const {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.source->size));
  RETURN_IF_ERROR(file_->Read(*tensor.source, 0, absl::MakeSpan(bytes)));
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  for (float& number : numbers) number *= tensor.factor;
  return numbers;
}

// Fills in a part of a tensor. known: the small model's numbers of a vector. A matrix gets the small model's blocks later.
void AroundModel::Fill(int index, absl::Span<const float> known, Share part, float* out) const {
  const Tensor& tensor = tensors_[static_cast<size_t>(index)];
  for (int64_t i = part.begin; i < part.end; ++i) {
    const bool has = i % tensor.columns < tensor.source_columns && i / tensor.columns < tensor.source_rows;
    if (has) {
      *out++ = tensor.vector ? known[static_cast<size_t>(i)] : 0;
    } else if (tensor.zero) {
      *out++ = 0;
    } else {
      const uint64_t bits = CounterRandom(seed_, static_cast<uint64_t>(index), static_cast<uint64_t>(i));
      *out++ = tensor.mean + tensor.deviation * NearNormal(bits);
    }
  }
}

absl::Status AroundModel::AppendTensor(int index, ThreadPool& pool, GgufWriter::Append append) const {
  const Tensor& tensor = tensors_[static_cast<size_t>(index)];
  std::vector<float> known;
  if (tensor.vector && tensor.source != nullptr) {
    ASSIGN_OR_RETURN(known, ScaledNumbers(tensor));
  }
  const auto fill = [&](Share part, float* out) {
    Fill(index, known, part, out);
    return absl::OkStatus();
  };
  const NumbersToQuantize numbers = {.name = tensor.name, .format = tensor.format, .count = tensor.rows * tensor.columns};
  if (tensor.vector || tensor.source == nullptr) return QuantizeNumbers(numbers, pool, fill, append);
  Joint joint(*file_, tensor, append);
  const auto join = [&](absl::Span<const std::byte> bytes) { return joint.Append(bytes); };
  RETURN_IF_ERROR(QuantizeNumbers(numbers, pool, fill, join));
  return file_->CheckUnchanged();
}

absl::Status AroundModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return AppendTensor(tensor, pool, append); }, progress);
}

}  // namespace tessera
