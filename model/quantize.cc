#include "tessera/model/quantize.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/check_finite.h"
#include "tessera/model/quantize_rows.h"

namespace tessera {
namespace {

constexpr int64_t kCopiedAtOnce = int64_t{1} << 20;  // Bytes.

BlockFormat FormatFor(const GgufTensor& tensor, const QuantizeFormats& formats) {
  if (tensor.shape.size() != 2) return tensor.format->format;
  if (absl::StartsWith(tensor.name, "blk.")) return formats.layers.value_or(tensor.format->format);
  const bool head = tensor.name == "token_embd.weight" || tensor.name == "output.weight";
  return head ? formats.head.value_or(tensor.format->format) : tensor.format->format;
}

// Of a split model, or true of the old file alone: where tensors are aligned, what most of them are.
bool Outdated(absl::string_view key, const QuantizeFormats& formats) {
  return absl::StartsWith(key, "split.") || key == "general.alignment" || (key == "general.file_type" && formats.layers.has_value());
}

std::string NameOf(const GgufFile& file, const GgufTensor& tensor) { return absl::StrCat(file.PathOf(tensor), ": tensor ", tensor.name); }

absl::Status CheckBlocks(const GgufFile& file, const GgufTensor& tensor, BlockFormat format) {
  const absl::Status status = BytesOfRows(format, tensor.shape[1], tensor.shape[0]).status();
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(NameOf(file, tensor), ": ", status.message()));
}

}  // namespace

absl::StatusOr<QuantizedModel> QuantizedModel::Plan(const GgufFile& file, const QuantizeFormats& formats) {
  QuantizedModel model(file);
  model.PutMetadata(formats);
  for (const GgufTensor& tensor : file.tensors()) {
    const BlockFormat format = FormatFor(tensor, formats);
    if (format != tensor.format->format) RETURN_IF_ERROR(CheckBlocks(file, tensor, format));
    model.formats_.push_back(format);
    model.writer_.Tensor(tensor.name, format, tensor.shape);
  }
  RETURN_IF_ERROR(model.writer_.FileSize().status());
  return model;
}

void QuantizedModel::PutMetadata(const QuantizeFormats& formats) {
  for (const auto& [key, value] : file_->metadata()) {
    if (!Outdated(key, formats)) writer_.Copy(key, value);
  }
}

int QuantizedModel::changed() const {
  int changed = 0;
  for (size_t i = 0; i < formats_.size(); ++i) changed += formats_[i] != file_->tensors()[i].format->format;
  return changed;
}

absl::Status QuantizedModel::AppendAsItIs(const GgufTensor& tensor, GgufWriter::Append append) const {
  std::vector<std::byte> bytes(std::min(tensor.size, kCopiedAtOnce));
  for (int64_t begin = 0; begin < tensor.size; begin += kCopiedAtOnce) {
    const absl::Span<std::byte> some = absl::MakeSpan(bytes).first(std::min(kCopiedAtOnce, tensor.size - begin));
    RETURN_IF_ERROR(file_->Read(tensor, begin, some));
    RETURN_IF_ERROR(append(some));
  }
  return absl::OkStatus();
}

absl::Status QuantizedModel::Append(int index, ThreadPool& pool, GgufWriter::Append append) const {
  const GgufTensor& tensor = file_->tensors()[index];
  const BlockFormatInfo& from = *tensor.format;
  if (formats_[index] == from.format) return AppendAsItIs(tensor, append);
  const int64_t columns = tensor.shape[0], rows = tensor.shape[1], row_bytes = tensor.size / rows;
  const auto fill = [&](Share part, float* out) -> absl::Status {
    std::vector<std::byte> blocks((part.end - part.begin) * row_bytes);
    RETURN_IF_ERROR(file_->Read(tensor, part.begin * row_bytes, absl::MakeSpan(blocks)));
    RETURN_IF_ERROR(CheckFinite(*file_, tensor, part.begin * row_bytes, blocks));
    from.dequantize(blocks.data(), (part.end - part.begin) * columns, out);
    return absl::OkStatus();
  };
  return QuantizeRows({NameOf(*file_, tensor), formats_[index], rows, columns}, pool, fill, append);
}

absl::Status QuantizedModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return Append(tensor, pool, append); }, progress);
}

}  // namespace tessera
