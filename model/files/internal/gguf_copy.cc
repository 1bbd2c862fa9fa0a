#include "tessera/model/files/internal/gguf_copy.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kCopiedAtOnce = int64_t{1} << 20;  // Bytes.
constexpr char kFileType[] = "general.file_type", kVersion[] = "general.quantization_version";
constexpr uint32_t kBlocksVersion = 2;  // The one that is read (JudgeGeneralKeys).

bool Outdated(absl::string_view key) { return absl::StartsWith(key, "split.") || key == "general.alignment"; }

}  // namespace

void CopyMetadata(const GgufFile& file, std::optional<uint32_t> file_type, GgufWriter& writer) {
  for (const auto& [key, value] : file.metadata()) {
    if (key == kFileType && file_type.has_value()) writer.Number(kFileType, *file_type);
    else if (!Outdated(key)) writer.Copy(key, value);
  }
  if (file_type.has_value() && file.Find(kFileType) == nullptr) writer.Number(kFileType, *file_type);
  if (file.Find(kVersion) == nullptr) writer.Number(kVersion, kBlocksVersion);
}

absl::Status CopyTensor(const GgufFile& file, const GgufTensor& tensor, GgufWriter::Append append) {
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(tensor.size, kCopiedAtOnce)));
  for (int64_t begin = 0; begin < tensor.size; begin += kCopiedAtOnce) {
    const absl::Span<std::byte> some = absl::MakeSpan(bytes).first(static_cast<size_t>(std::min(kCopiedAtOnce, tensor.size - begin)));
    RETURN_IF_ERROR(file.Read(tensor, begin, some));
    RETURN_IF_ERROR(append(some));
  }
  return file.CheckUnchanged();
}

std::vector<std::string> NamesOfUnread(const GgufFile& file) {
  std::vector<std::string> names;
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) names.emplace_back(tensor.name);
  return names;
}

std::string PlaceOf(const GgufFile& file, const GgufTensor& tensor) { return absl::StrCat(file.PathOf(tensor), ": tensor ", tensor.name); }

}  // namespace tessera
