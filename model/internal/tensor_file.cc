#include "tessera/model/internal/tensor_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/is_gguf.h"
#include "tessera/model/internal/file_matrix.h"

namespace tessera {
namespace {

// Returns the key in GGUF. Keys with a dot already have a prefix.
std::string GgufKey(absl::string_view key) {
  return absl::StrContains(key, '.') ? std::string(key) : absl::StrCat(TensorFile::kGgufPrefix, key);
}

std::string Listed(absl::Span<const int64_t> shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

// Returns the shape in the order of other files: GGUF's fastest dimension comes first.
std::vector<int64_t> ShapeOfGguf(const GgufTensor& tensor) { return {tensor.shape.rbegin(), tensor.shape.rend()}; }

// Compares shapes. GGUF may leave out slow dimensions of 1: [64] equals [1, 64].
bool IsShape(std::vector<int64_t> found, absl::Span<const int64_t> expected) {
  while (found.size() < expected.size()) found.insert(found.begin(), 1);
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
}

absl::StatusOr<std::vector<float>> ReadGguf(const TensorFile& file, const GgufFile& gguf, const GgufTensor& tensor) {
  const BlockFormatInfo& format = *tensor.format;
  if (format.values_per_block != 1) {
    return file.WrongTensor(tensor.name, "type", absl::StrCat("found ", format.name, ", expected F32, F16 or BF16"));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  RETURN_IF_ERROR(gguf.Read(tensor, 0, absl::MakeSpan(bytes)));
  std::vector<float> numbers(bytes.size() / static_cast<size_t>(format.bytes_per_block));
  format.dequantize(bytes.data(), static_cast<int64_t>(numbers.size()), numbers.data());
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](float number) { return !std::isfinite(number); });
  if (bad == numbers.end()) return numbers;
  return file.WrongTensor(tensor.name, "", absl::StrCat("value ", bad - numbers.begin(), ": found ", *bad, ", expected a finite number"));
}

}  // namespace

absl::StatusOr<TensorFile> TensorFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_gguf, IsGguf(path));
  if (is_gguf) {
    ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> gguf, GgufFile::Open(path));
    return TensorFile(std::move(gguf));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> own, SafetensorsFile::Open(path));
  TensorFile file(*own);
  file.own_ = std::move(own);
  return file;
}

std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> names;
  if (gguf_ == nullptr) {
    for (const SafetensorsTensor& tensor : safetensors_->tensors()) names.push_back(tensor.name);
    return names;
  }
  for (const GgufTensor& tensor : gguf_->tensors()) names.emplace_back(tensor.name);
  for (const GgufUnreadTensor& tensor : gguf_->unread_tensors()) names.emplace_back(tensor.name);
  return names;
}

bool TensorFile::Has(absl::string_view name) const { return ShapeOf(name).has_value(); }

std::optional<std::vector<int64_t>> TensorFile::ShapeOf(absl::string_view name) const {
  if (gguf_ != nullptr) {
    const GgufTensor* const tensor = gguf_->FindTensor(name);
    return tensor == nullptr ? std::nullopt : std::optional(ShapeOfGguf(*tensor));
  }
  const SafetensorsTensor* const tensor = safetensors_->FindTensor(name);
  return tensor == nullptr ? std::nullopt : std::optional(tensor->shape);
}

absl::StatusOr<std::vector<float>> TensorFile::Read(absl::string_view name, absl::Span<const int64_t> shape) const {
  if (gguf_ == nullptr) {
    ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(*safetensors_, name, shape));
    return safetensors_->ReadFloats(*tensor);
  }
  const GgufTensor* const tensor = gguf_->FindTensor(name);
  if (tensor == nullptr) return WrongTensor(name, "", absl::StrCat("found nothing, expected ", Listed(shape)));
  if (IsShape(ShapeOfGguf(*tensor), shape)) return ReadGguf(*this, *gguf_, *tensor);
  return WrongTensor(name, "shape", absl::StrCat("found ", Listed(ShapeOfGguf(*tensor)), ", expected ", Listed(shape)));
}

absl::StatusOr<std::optional<std::string>> TensorFile::Text(absl::string_view key) const {
  if (gguf_ == nullptr) {
    const std::string* const text = safetensors_->FindMetadata(key);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }
  const std::string full = GgufKey(key);
  if (gguf_->Find(full) == nullptr) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const absl::string_view text, gguf_->String(full));
  return std::optional<std::string>(text);
}

absl::Status TensorFile::WrongTensor(absl::string_view name, absl::string_view field, absl::string_view problem) const {
  if (gguf_ == nullptr) return safetensors_->WrongTensor(name, field, problem);
  return absl::InvalidArgumentError(absl::StrCat(path(), ": tensor ", Quoted(name), field.empty() ? "" : " ", field, ": ", problem));
}

absl::Status TensorFile::WrongText(absl::string_view key, const std::optional<std::string>& found, absl::string_view expected) const {
  const std::string where = gguf_ == nullptr ? absl::StrCat("__metadata__ ", key) : absl::StrCat("metadata ", GgufKey(key));
  return absl::InvalidArgumentError(
      absl::StrCat(path(), ": ", where, ": found ", found.has_value() ? Quoted(*found) : "none", ", expected ", expected));
}

}  // namespace tessera
