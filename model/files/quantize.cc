#include "tessera/model/files/quantize.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/file_type.h"
#include "tessera/model/files/internal/check_finite.h"
#include "tessera/model/files/internal/gguf_copy.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/quantize_numbers.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

bool IsMatrix(const GgufTensor& tensor) {
  return tensor.shape.size() >= 2 && PaddedShape(tensor)[2] == 1 && PaddedShape(tensor)[3] == 1;
}

WeightForm FormFor(const GgufTensor& tensor, const WeightRecipe& recipe, bool tied_head) {
  if (!IsMatrix(tensor)) return {.format = tensor.format->format};
  return recipe.FormOf(tensor.name, tied_head, tensor.format->format, tensor.shape[0]);
}

// Returns the form's name if GGUF files cannot hold the form; else empty.
std::string NameIfNotInGguf(const WeightForm& form) {
  if (form.tile.has_value()) return TileSchemeName(*form.tile);
  return InfoOf(form.format).in_gguf() ? "" : InfoOf(form.format).name;
}

// Checks that the format can be written, and that the tensor's rows are whole blocks of the format.
absl::Status CheckFormat(const GgufFile& file, const GgufTensor& tensor, BlockFormat format) {
  absl::Status status = CheckWritten(format);
  status.Update(BytesOfRows(format, tensor.shape[1], tensor.shape[0]).status());
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(PlaceOf(file, tensor), ": ", status.message()));
}

// Returns the importance of a tensor's inputs; empty: errors of all inputs count the same.
absl::StatusOr<absl::Span<const float>> ImportanceFor(const GgufFile& file, const GgufTensor& tensor, BlockFormat format,
                                                      const Importance* importance) {
  absl::Span<const float> inputs;
  if (importance == nullptr || InfoOf(format).search == nullptr) return inputs;
  inputs = importance->Of(tensor.name);
  if (inputs.empty() || static_cast<int64_t>(inputs.size()) == tensor.shape[0]) return inputs;
  return absl::InvalidArgumentError(absl::StrCat(PlaceOf(file, tensor), ": statistics: found those of ", inputs.size(),
                                                 " inputs, expected ", tensor.shape[0], ": they are of another model"));
}

int64_t NumbersOf(const GgufTensor& tensor) { return tensor.size / tensor.format->bytes_per_block * tensor.format->values_per_block; }

}  // namespace

absl::StatusOr<QuantizedModel> QuantizedModel::Plan(const GgufFile& file, const WeightRecipe& recipe) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  RETURN_IF_ERROR(CheckTensors(file, config).FirstProblem());
  if (const absl::Status fits = recipe.CheckFor(config.tied_head); !fits.ok()) {
    return absl::Status(fits.code(), absl::StrCat(file.path(), ": recipe: ", fits.message()));
  }
  QuantizedModel model(file);
  for (const GgufTensor& tensor : file.tensors()) {
    const WeightForm form = FormFor(tensor, recipe, config.tied_head);
    if (const std::string name = NameIfNotInGguf(form); !name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOf(file, tensor), ": found the form ", name, ", expected a block format: GGUF has no ", name));
    }
    if (form.format != tensor.format->format) RETURN_IF_ERROR(CheckFormat(file, tensor, form.format));
    model.formats_.push_back(form.format);
    model.writer_.Tensor(tensor.name, form.format, tensor.shape);
  }
  CopyMetadata(file, model.FileType(), model.writer_);
  const absl::Status fits = model.writer_.FileSize().status();
  if (!fits.ok()) return absl::Status(fits.code(), absl::StrCat(file.path(), ": ", fits.message()));
  return model;
}

absl::StatusOr<std::string> QuantizedModel::NotInGguf(const GgufFile& file, const WeightRecipe& recipe) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  for (const GgufTensor& tensor : file.tensors()) {
    std::string name = NameIfNotInGguf(FormFor(tensor, recipe, config.tied_head));
    if (!name.empty()) return name;
  }
  return "";
}

// nullopt: no layer changes.
std::optional<uint32_t> QuantizedModel::FileType() const {
  std::map<BlockFormat, int64_t> weights;  // Number of layers' weights in each format.
  bool changes = false;
  for (size_t i = 0; i < formats_.size(); ++i) {
    const GgufTensor& tensor = file_->tensors()[i];
    if (!absl::StartsWith(tensor.name, "blk.")) continue;
    weights[formats_[i]] += NumbersOf(tensor);
    changes |= formats_[i] != tensor.format->format;
  }
  if (!changes) return std::nullopt;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return FileTypeOf(std::max_element(weights.begin(), weights.end(), less)->first);
}

int QuantizedModel::changed() const {
  int changed = 0;
  for (size_t i = 0; i < formats_.size(); ++i) changed += formats_[i] != file_->tensors()[i].format->format;
  return changed;
}

std::vector<std::string> QuantizedModel::left_out() const { return NamesOfUnread(*file_); }

BlockFormat QuantizedModel::FormatOf(absl::string_view tensor) const {
  const GgufTensor* const found = file_->FindTensor(tensor);
  CHECK(found != nullptr) << "tensor " << tensor;
  return formats_[static_cast<size_t>(found - file_->tensors().data())];
}

absl::Status QuantizedModel::Append(int index, ThreadPool& pool, const Importance* importance, GgufWriter::Append append) const {
  const GgufTensor& tensor = file_->tensors()[index];
  const BlockFormatInfo& from = *tensor.format;
  if (formats_[index] == from.format) return CopyTensor(*file_, tensor, append);
  const auto bytes_of = [&from](int64_t numbers) { return numbers / from.values_per_block * from.bytes_per_block; };
  const int64_t count = NumbersOf(tensor);
  ASSIGN_OR_RETURN(const absl::Span<const float> inputs, ImportanceFor(*file_, tensor, formats_[index], importance));
  std::vector<std::byte> piece(bytes_of(std::min(kQuantizedTogether, count)));
  const auto fill = [&](Share part, float* out) -> absl::Status {
    const absl::Span<std::byte> blocks = absl::MakeSpan(piece).subspan(bytes_of(part.begin % kQuantizedTogether),
                                                                       bytes_of(part.end - part.begin));
    RETURN_IF_ERROR(file_->Read(tensor, bytes_of(part.begin), blocks));
    RETURN_IF_ERROR(CheckFinite(*file_, tensor, bytes_of(part.begin), blocks));
    from.dequantize(blocks.data(), part.end - part.begin, out);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(QuantizeNumbers({PlaceOf(*file_, tensor), formats_[index], count, inputs}, pool, fill, append));
  return file_->CheckUnchanged();
}

absl::Status QuantizedModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress,
                                   const Importance* importance) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return Append(tensor, pool, importance, append); }, progress);
}

}  // namespace tessera
