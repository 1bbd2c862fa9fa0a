#include "tessera/model/files/off_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elementary.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/file_type.h"
#include "tessera/model/files/internal/check_finite.h"
#include "tessera/model/files/internal/gguf_copy.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int64_t kChangedTogether = int64_t{1} << 20;  // Numbers in memory at once, or one row.
constexpr double kLargestFactor = 1.25;
constexpr float kLargest = std::numeric_limits<float>::max();

absl::Status TooLarge(absl::string_view place, double number) {
  return absl::InvalidArgumentError(absl::StrCat(place, " of the copy: found ", number, ", expected at most ", kLargest, " in F32"));
}

absl::Span<const std::byte> BytesOf(absl::Span<const float> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
}

// The sources of a layer's channels, and the channels' factors.
struct Channels {
  std::vector<int64_t> from;
  std::vector<double> factors;  // FP32 numbers.
};

Channels ChannelsOf(uint64_t seed, int layer, int64_t count) {
  const uint64_t stream = 2 * static_cast<uint64_t>(layer);
  Channels channels;
  channels.from.resize(static_cast<size_t>(count));
  std::iota(channels.from.begin(), channels.from.end(), int64_t{0});
  SeededRandom random(CounterRandom(seed, stream, 0));
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(channels.from[static_cast<size_t>(i)], channels.from[static_cast<size_t>(random.Below(i + 1))]);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double uniform = CounterUniform(seed, stream + 1, static_cast<uint64_t>(i));
    channels.factors.push_back(static_cast<float>(elementary::Pow(kLargestFactor, 2 * uniform - 1)));
  }
  return channels;
}

}  // namespace

// Number j of row i is made from number columns[j] of the file's row rows[i], times both factors. Empty: rows or columns stay in place,
// factors are 1. A vector has rows of one number.
struct OffGridModel::Change {
  std::vector<int64_t> rows = {}, columns = {};
  std::vector<double> row_factors = {}, column_factors = {};

  int64_t RowOf(int64_t row) const { return rows.empty() ? row : rows[static_cast<size_t>(row)]; }
  double FactorOf(int64_t row) const { return row_factors.empty() ? 1 : row_factors[static_cast<size_t>(row)]; }
};

absl::StatusOr<OffGridModel::Role> OffGridModel::RoleOf(const std::string& label, const std::string& place) {
  // All tensors that layers have. Any other tensor may read the output of a norm, or an inner channel.
  static constexpr std::pair<absl::string_view, Role> kRoles[] = {
      {"attn_norm.weight", Role::kNorm},
      {"attn_q.weight", Role::kAfterAttentionNorm},
      {"attn_k.weight", Role::kAfterAttentionNorm},
      {"attn_v.weight", Role::kAfterAttentionNorm},
      {"attn_q.bias", Role::kKept},
      {"attn_k.bias", Role::kKept},
      {"attn_v.bias", Role::kKept},
      {"attn_q_norm.weight", Role::kKept},
      {"attn_k_norm.weight", Role::kKept},
      {"attn_output.weight", Role::kKept},
      {"attn_output.bias", Role::kKept},
      {"post_attention_norm.weight", Role::kKept},
      {"ffn_norm.weight", Role::kNorm},
      {"ffn_gate.weight", Role::kGate},
      {"ffn_up.weight", Role::kUp},
      {"ffn_gate.bias", Role::kGateBias},
      {"ffn_up.bias", Role::kUpBias},
      {"ffn_down.weight", Role::kDown},
      {"ffn_down.bias", Role::kKept},
      {"post_ffw_norm.weight", Role::kKept},
  };
  for (const auto& [known, role] : kRoles) {
    if (label == known) return role;
  }
  return absl::InvalidArgumentError(absl::StrCat(place, ": found a tensor of a layer of which it is not known whether folded norms and "
                                                        "moved channels concern it, expected none"));
}

absl::StatusOr<OffGridModel> OffGridModel::Plan(const GgufFile& file, uint64_t seed) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  RETURN_IF_ERROR(CheckTensors(file, config).FirstProblem());
  OffGridModel model(file, seed);
  model.channels_ = config.feed_forward;
  absl::flat_hash_map<std::string, Place> of_layers;
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    for (const TensorNeed& need : LayerNeeds(config, layer)) {
      ASSIGN_OR_RETURN(const Role role, RoleOf(need.label, absl::StrCat(file.path(), ": tensor ", need.name)));
      of_layers[need.name] = {role, layer};
    }
  }
  for (const GgufTensor& tensor : file.tensors()) {
    const auto found = of_layers.find(tensor.name);
    const Place place = found == of_layers.end() ? Place{} : found->second;
    model.places_.push_back(place);
    model.writer_.Tensor(tensor.name, place.role == Role::kKept ? tensor.format->format : BlockFormat::kF32, tensor.shape);
  }
  CopyMetadata(file, FileTypeOf(BlockFormat::kF32), model.writer_);
  const absl::Status fits = model.writer_.FileSize().status();
  if (!fits.ok()) return absl::Status(fits.code(), absl::StrCat(file.path(), ": ", fits.message()));
  return model;
}

int OffGridModel::changed() const {
  return static_cast<int>(std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.role != Role::kKept; }));
}

std::vector<std::string> OffGridModel::left_out() const { return NamesOfUnread(*file_); }

BlockFormat OffGridModel::FormatOf(absl::string_view tensor) const {
  const GgufTensor* const found = file_->FindTensor(tensor);
  CHECK(found != nullptr) << "tensor " << tensor;
  const bool kept = places_[static_cast<size_t>(found - file_->tensors().data())].role == Role::kKept;
  return kept ? found->format->format : BlockFormat::kF32;
}

absl::StatusOr<std::vector<float>> OffGridModel::ReadVector(const std::string& name) const {
  const GgufTensor* const tensor = file_->FindTensor(name);
  CHECK(tensor != nullptr) << "tensor " << name;  // Plan has checked that the tensor exists.
  const BlockFormatInfo& format = *tensor->format;
  std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
  RETURN_IF_ERROR(file_->Read(*tensor, 0, absl::MakeSpan(bytes)));
  RETURN_IF_ERROR(CheckFinite(*file_, *tensor, 0, bytes));
  std::vector<float> numbers(static_cast<size_t>(tensor->size / format.bytes_per_block * format.values_per_block));
  format.dequantize(bytes.data(), static_cast<int64_t>(numbers.size()), numbers.data());
  return numbers;
}

absl::StatusOr<OffGridModel::Change> OffGridModel::ChangeOf(const Place& place) const {
  Change change;
  if (place.role == Role::kAfterAttentionNorm || place.role == Role::kGate || place.role == Role::kUp) {
    const char* const norm = place.role == Role::kAfterAttentionNorm ? "attn_norm.weight" : "ffn_norm.weight";
    ASSIGN_OR_RETURN(const std::vector<float> factors, ReadVector(absl::StrCat("blk.", place.layer, ".", norm)));
    change.column_factors.assign(factors.begin(), factors.end());
    if (place.role == Role::kAfterAttentionNorm) return change;
  }
  Channels channels = ChannelsOf(seed_, place.layer, channels_);
  if (place.role == Role::kDown) {
    change.columns = std::move(channels.from);
    for (const double factor : channels.factors) change.column_factors.push_back(1 / factor);
    return change;
  }
  change.rows = std::move(channels.from);
  if (place.role == Role::kUp || place.role == Role::kUpBias) change.row_factors = std::move(channels.factors);
  return change;
}

absl::Status OffGridModel::AppendVector(const GgufTensor& tensor, const Change& change, GgufWriter::Append append) const {
  ASSIGN_OR_RETURN(const std::vector<float> numbers, ReadVector(std::string(tensor.name)));
  std::vector<float> out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i);
    const double number = double{numbers[static_cast<size_t>(change.RowOf(row))]} * change.FactorOf(row);
    if (!(std::fabs(number) <= kLargest)) return TooLarge(absl::StrCat(PlaceOf(*file_, tensor), ": number ", i), number);
    out.push_back(static_cast<float>(number));
  }
  return append(BytesOf(out));
}

// Writes rows [rows.begin, rows.end) of the copy.
absl::Status OffGridModel::ChangeRows(const GgufTensor& tensor, const Change& change, Share rows, float* out) const {
  const BlockFormatInfo& format = *tensor.format;
  const int64_t columns = tensor.shape[0], row_bytes = columns / format.values_per_block * format.bytes_per_block;
  std::vector<std::byte> blocks(static_cast<size_t>(row_bytes));
  std::vector<float> numbers(static_cast<size_t>(columns));
  for (int64_t row = rows.begin; row < rows.end; ++row, out += columns) {
    const int64_t from = change.RowOf(row);
    RETURN_IF_ERROR(file_->Read(tensor, from * row_bytes, absl::MakeSpan(blocks)));
    RETURN_IF_ERROR(CheckFinite(*file_, tensor, from * row_bytes, blocks));
    format.dequantize(blocks.data(), columns, numbers.data());
    for (size_t i = 0; i < numbers.size(); ++i) {
      double number = double{numbers[change.columns.empty() ? i : static_cast<size_t>(change.columns[i])]} * change.FactorOf(row);
      if (!change.column_factors.empty()) number *= change.column_factors[i];
      if (!(std::fabs(number) <= kLargest)) return TooLarge(absl::StrCat(PlaceOf(*file_, tensor), ": row ", row, " column ", i), number);
      out[i] = static_cast<float>(number);
    }
  }
  return absl::OkStatus();
}

absl::Status OffGridModel::AppendMatrix(const GgufTensor& tensor, const Change& change, ThreadPool& pool,
                                        GgufWriter::Append append) const {
  const int64_t columns = PaddedShape(tensor)[0], rows = PaddedShape(tensor)[1];
  const int64_t together = std::clamp<int64_t>(kChangedTogether / columns, 1, rows);
  std::vector<float> numbers(static_cast<size_t>(together * columns));
  std::vector<absl::Status> statuses(static_cast<size_t>(pool.threads()));
  for (int64_t first = 0; first < rows; first += together) {
    const int64_t count = std::min(together, rows - first);
    pool.Run([&](int worker) {
      const Share own = ShareOf(static_cast<long>(count), worker, pool.threads());
      const Share changed = {static_cast<long>(first) + own.begin, static_cast<long>(first) + own.end};
      statuses[static_cast<size_t>(worker)] =
          OrOutOfMemory([&] { return ChangeRows(tensor, change, changed, numbers.data() + own.begin * columns); });
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(append(BytesOf(absl::MakeConstSpan(numbers).first(static_cast<size_t>(count * columns)))));
  }
  return absl::OkStatus();
}

absl::Status OffGridModel::Append(int index, ThreadPool& pool, GgufWriter::Append append) const {
  const GgufTensor& tensor = file_->tensors()[static_cast<size_t>(index)];
  const Place& place = places_[static_cast<size_t>(index)];
  if (place.role == Role::kKept) return CopyTensor(*file_, tensor, append);
  if (place.role == Role::kNorm) return append(BytesOf(std::vector<float>(static_cast<size_t>(PaddedShape(tensor)[0]), 1.0f)));
  ASSIGN_OR_RETURN(const Change change, ChangeOf(place));
  const bool vector = place.role == Role::kGateBias || place.role == Role::kUpBias;
  RETURN_IF_ERROR(vector ? AppendVector(tensor, change, append) : AppendMatrix(tensor, change, pool, append));
  return file_->CheckUnchanged();
}

absl::Status OffGridModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return Append(tensor, pool, append); }, progress);
}

}  // namespace tessera
