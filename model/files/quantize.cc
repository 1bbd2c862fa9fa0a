#include "tessera/model/files/quantize.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/file_type.h"
#include "tessera/model/files/internal/check_finite.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/quantize_numbers.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int64_t kCopiedAtOnce = int64_t{1} << 20;  // Bytes.

// blk.7.attn_q.weight, but not blk.7.attn_q_norm.weight.
bool IsOfLayers(absl::string_view name) {
  static constexpr absl::string_view kMatrices[] = {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
  if (!absl::ConsumePrefix(&name, "blk.") || !absl::ConsumeSuffix(&name, ".weight")) return false;
  const size_t dot = name.find('.');
  return dot != name.npos && absl::c_linear_search(kMatrices, name.substr(dot + 1));
}

BlockFormat FormatFor(const GgufTensor& tensor, const QuantizeFormats& formats) {
  if (tensor.shape.size() < 2 || PaddedShape(tensor)[2] != 1 || PaddedShape(tensor)[3] != 1) return tensor.format->format;
  if (IsOfLayers(tensor.name)) return formats.layers.value_or(tensor.format->format);
  const bool head = tensor.name == "token_embd.weight" || tensor.name == "output.weight";
  return head ? formats.head.value_or(tensor.format->format) : tensor.format->format;
}

constexpr char kFileType[] = "general.file_type", kVersion[] = "general.quantization_version";
constexpr uint32_t kBlocksVersion = 2;  // The one that is read (JudgeGeneralKeys).

// Keys of a split model, and the old file's alignment of tensors.
bool Outdated(absl::string_view key) { return absl::StartsWith(key, "split.") || key == "general.alignment"; }

std::string NameOf(const GgufFile& file, const GgufTensor& tensor) { return absl::StrCat(file.PathOf(tensor), ": tensor ", tensor.name); }

// Can this format be written, and are the tensor's rows whole blocks of it?
absl::Status CheckFormat(const GgufFile& file, const GgufTensor& tensor, BlockFormat format) {
  absl::Status status = CheckWritten(format);
  status.Update(BytesOfRows(format, tensor.shape[1], tensor.shape[0]).status());
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(NameOf(file, tensor), ": ", status.message()));
}

}  // namespace

absl::StatusOr<QuantizedModel> QuantizedModel::Plan(const GgufFile& file, const QuantizeFormats& formats) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  RETURN_IF_ERROR(CheckTensors(file, config).FirstProblem());
  QuantizedModel model(file);
  model.PutMetadata(formats);
  for (const GgufTensor& tensor : file.tensors()) {
    const BlockFormat format = FormatFor(tensor, formats);
    if (format != tensor.format->format) RETURN_IF_ERROR(CheckFormat(file, tensor, format));
    model.formats_.push_back(format);
    model.writer_.Tensor(tensor.name, format, tensor.shape);
  }
  const absl::Status fits = model.writer_.FileSize().status();
  if (!fits.ok()) return absl::Status(fits.code(), absl::StrCat(file.path(), ": ", fits.message()));
  return model;
}

void QuantizedModel::PutMetadata(const QuantizeFormats& formats) {
  for (const auto& [key, value] : file_->metadata()) {
    if (key == kFileType && formats.layers) writer_.Number(kFileType, FileTypeOf(*formats.layers));
    else if (!Outdated(key)) writer_.Copy(key, value);
  }
  // Some readers refuse a file of blocks without them.
  if (formats.layers && file_->Find(kFileType) == nullptr) writer_.Number(kFileType, FileTypeOf(*formats.layers));
  if (file_->Find(kVersion) == nullptr) writer_.Number(kVersion, kBlocksVersion);
}

int QuantizedModel::changed() const {
  int changed = 0;
  for (size_t i = 0; i < formats_.size(); ++i) changed += formats_[i] != file_->tensors()[i].format->format;
  return changed;
}

std::vector<std::string> QuantizedModel::left_out() const {
  std::vector<std::string> names;
  for (const GgufUnreadTensor& tensor : file_->unread_tensors()) names.emplace_back(tensor.name);
  return names;
}

absl::Status QuantizedModel::AppendAsItIs(const GgufTensor& tensor, GgufWriter::Append append) const {
  std::vector<std::byte> bytes(std::min(tensor.size, kCopiedAtOnce));
  for (int64_t begin = 0; begin < tensor.size; begin += kCopiedAtOnce) {
    const absl::Span<std::byte> some = absl::MakeSpan(bytes).first(std::min(kCopiedAtOnce, tensor.size - begin));
    RETURN_IF_ERROR(file_->Read(tensor, begin, some));
    RETURN_IF_ERROR(append(some));
  }
  return file_->CheckUnchanged();
}

absl::Status QuantizedModel::Append(int index, ThreadPool& pool, GgufWriter::Append append) const {
  const GgufTensor& tensor = file_->tensors()[index];
  const BlockFormatInfo& from = *tensor.format;
  if (formats_[index] == from.format) return AppendAsItIs(tensor, append);
  const auto bytes_of = [&from](int64_t numbers) { return numbers / from.values_per_block * from.bytes_per_block; };
  const int64_t count = tensor.size / from.bytes_per_block * from.values_per_block;
  std::vector<std::byte> piece(bytes_of(std::min(kQuantizedTogether, count)));
  const auto fill = [&](Share part, float* out) -> absl::Status {
    const absl::Span<std::byte> blocks = absl::MakeSpan(piece).subspan(bytes_of(part.begin % kQuantizedTogether),
                                                                       bytes_of(part.end - part.begin));
    RETURN_IF_ERROR(file_->Read(tensor, bytes_of(part.begin), blocks));
    RETURN_IF_ERROR(CheckFinite(*file_, tensor, bytes_of(part.begin), blocks));
    from.dequantize(blocks.data(), part.end - part.begin, out);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(QuantizeNumbers({NameOf(*file_, tensor), formats_[index], count}, pool, fill, append));
  return file_->CheckUnchanged();
}

absl::Status QuantizedModel::Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress) const {
  return writer_.Write(path, [&](int tensor, GgufWriter::Append append) { return Append(tensor, pool, append); }, progress);
}

}  // namespace tessera
