#include "tessera/model/files/gguf_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_bytes.h"
#include "tessera/model/files/internal/gguf_rules.h"

namespace tessera {
namespace {

constexpr uint32_t kVersion = 3;

absl::Span<const std::byte> AsBytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Takes the bytes of one tensor and checks the number of bytes against the plan.
class TensorSink {
 public:
  TensorSink(AtomicFileWriter& file, absl::string_view name, int64_t bytes) : file_(file), name_(name), bytes_(bytes) {}

  absl::Status Append(absl::Span<const std::byte> bytes) {
    taken_ += static_cast<int64_t>(bytes.size());
    return taken_ <= bytes_ ? file_.Append(bytes) : WrongSize();
  }
  absl::Status Finish() {
    if (taken_ != bytes_) return WrongSize();
    return file_.Append(std::vector<std::byte>(AlignUp(bytes_, kDefaultAlignment) - bytes_));
  }

 private:
  absl::Status WrongSize() const {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", Quoted(name_), ": found ", taken_, taken_ > bytes_ ? " or more" : "",
                                                   " bytes, expected ", bytes_));
  }

  AtomicFileWriter& file_;
  const absl::string_view name_;
  const int64_t bytes_;
  int64_t taken_ = 0;
};

}  // namespace

std::string GgufWriter::Counted(absl::string_view text) {
  std::string bytes;
  AppendLengthPrefixed(text, bytes);
  return bytes;
}

GgufWriter& GgufWriter::String(absl::string_view key, absl::string_view value) {
  return Entry(key, GgufType::kString, Counted(value));
}

GgufWriter& GgufWriter::Strings(absl::string_view key, absl::Span<const std::string> values) {
  std::string bytes;
  for (const std::string& value : values) AppendLengthPrefixed(value, bytes);
  return Array(key, GgufType::kString, values.size(), bytes);
}

GgufWriter& GgufWriter::Copy(absl::string_view key, const GgufValue& value) {
  const absl::string_view bytes(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  return value.type == GgufType::kArray ? Array(key, value.element_type, value.count, bytes) : Entry(key, value.type, bytes);
}

GgufWriter& GgufWriter::Array(absl::string_view key, GgufType type, size_t count, absl::string_view bytes) {
  return Entry(key, GgufType::kArray, absl::StrCat(BytesOf(type), BytesOf(uint64_t{count}), bytes));
}

GgufWriter& GgufWriter::Entry(absl::string_view key, GgufType type, absl::string_view bytes) {
  status_.Update(CheckName("metadata", key, kLongestKey));
  absl::StrAppend(&entries_, Counted(key), BytesOf(type), bytes);
  if (++entry_count_ > kMostEntries) {
    status_.Update(
        absl::InvalidArgumentError(absl::StrCat("metadata ", Quoted(key), ": expected at most ", kMostEntries, " keys")));
  }
  return *this;
}

GgufWriter& GgufWriter::Tensor(absl::string_view name, BlockFormat format, std::vector<int64_t> shape) {
  status_.Update(Plan(name, format, std::move(shape)));
  return *this;
}

absl::Status GgufWriter::CheckName(absl::string_view what, absl::string_view name, uint64_t longest) {
  if (name.empty() || name.size() > longest || !IsPrintableUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", Quoted(name), ": expected 1 to ", longest, " bytes of printable UTF-8"));
  }
  if (names_.insert(absl::StrCat(what, " ", name)).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", Quoted(name), ": found it a second time, expected it once"));
}

absl::Status GgufWriter::Plan(absl::string_view name, BlockFormat format, std::vector<int64_t> shape) {
  RETURN_IF_ERROR(CheckName("tensor", name, kLongestName));
  const auto wrong = [name](absl::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", Quoted(name), ": ", problem));
  };
  if (shape.empty() || shape.size() > kMostDimensions) {
    return wrong(absl::StrCat("found ", shape.size(), " dimensions, expected 1 to ", kMostDimensions));
  }
  if (const absl::Status held = CheckInGguf(format); !held.ok()) return wrong(held.message());
  if (tensors_.size() == kMostTensors) return wrong(absl::StrCat("found more tensors, expected at most ", kMostTensors));
  for (int64_t length : shape) {
    if (length < 1) return wrong(absl::StrCat("found a dimension of ", length, ", expected 1 or more"));
  }
  const absl::StatusOr<int64_t> bytes = BytesOfTensor(format, shape);
  if (!bytes.ok()) return wrong(bytes.status().message());
  tensors_.push_back({std::string(name), format, std::move(shape), *bytes, data_bytes_});
  ASSIGN_OR_RETURN(const int64_t padded, CheckedAlignUp(*bytes, kDefaultAlignment));
  ASSIGN_OR_RETURN(data_bytes_, CheckedAdd(data_bytes_, padded));
  return absl::OkStatus();
}

std::string GgufWriter::UpToTable() const {
  std::string header = absl::StrCat(BytesOf(kGgufMagic), BytesOf(kVersion), BytesOf(uint64_t{tensors_.size()}),
                                    BytesOf(entry_count_), entries_);
  for (const Planned& tensor : tensors_) {
    absl::StrAppend(&header, Counted(tensor.name), BytesOf(static_cast<uint32_t>(tensor.shape.size())));
    for (int64_t length : tensor.shape) header += BytesOf(length);
    absl::StrAppend(&header, BytesOf(InfoOf(tensor.format).gguf_type), BytesOf(tensor.offset));
  }
  return header;
}

absl::StatusOr<std::string> GgufWriter::Header() const {
  RETURN_IF_ERROR(status_);
  std::string header = UpToTable();
  header.resize(AlignUp(static_cast<int64_t>(header.size()), kDefaultAlignment), '\0');
  const auto too_large = [](absl::string_view what, int64_t found, int64_t most) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": found ", found, " bytes, expected at most ", most));
  };
  const int64_t size = static_cast<int64_t>(header.size());
  if (size > GgufBytes::kLongestHeader) return too_large("metadata and names", size, GgufBytes::kLongestHeader);
  const int64_t most = GgufBytes::kLargestModel - size;
  if (data_bytes_ > most) return too_large("tensors", data_bytes_, most);
  return header;
}

absl::StatusOr<int64_t> GgufWriter::FileSize() const {
  ASSIGN_OR_RETURN(const std::string header, Header());
  return static_cast<int64_t>(header.size()) + data_bytes_;
}

absl::StatusOr<GgufFile::Header> GgufWriter::HeaderOnly() const {
  ASSIGN_OR_RETURN(const int64_t file_bytes, FileSize());
  const std::string header = UpToTable();
  const absl::Span<const std::byte> bytes = AsBytes(header);
  return GgufFile::Header{SharedBytes(std::vector<std::byte>(bytes.begin(), bytes.end())), file_bytes};
}

absl::Status GgufWriter::Write(const std::string& path, Produce produce, const Progress& progress) const {
  ASSIGN_OR_RETURN(const std::string header, Header());
  ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(file.Append(AsBytes(header)));
  int64_t done = static_cast<int64_t>(header.size());
  const int64_t total = done + data_bytes_;
  for (int i = 0; i < tensors(); ++i) {
    TensorSink sink(file, tensors_[i].name, tensors_[i].bytes);
    const absl::Status produced = produce(i, [&](absl::Span<const std::byte> bytes) -> absl::Status {
      RETURN_IF_ERROR(sink.Append(bytes));
      done += static_cast<int64_t>(bytes.size());
      if (progress) progress(done, total);
      return absl::OkStatus();
    });
    RETURN_IF_ERROR(produced);
    RETURN_IF_ERROR(sink.Finish());
  }
  return file.Commit();
}

}  // namespace tessera
