#include "tessera/model/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/json.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/read_through.h"
#include "tessera/model/files/internal/safetensors_rules.h"
#include "tessera/quant/finite_blocks.h"

namespace tessera {
namespace {

constexpr SafetensorsTypeInfo kTypes[kSafetensorsTypes] = {
    {SafetensorsType::kBool, "BOOL", 1}, {SafetensorsType::kU8, "U8", 1},     {SafetensorsType::kI8, "I8", 1},
    {SafetensorsType::kU16, "U16", 2},   {SafetensorsType::kI16, "I16", 2},   {SafetensorsType::kF16, "F16", 2},
    {SafetensorsType::kBF16, "BF16", 2}, {SafetensorsType::kU32, "U32", 4},   {SafetensorsType::kI32, "I32", 4},
    {SafetensorsType::kF32, "F32", 4},   {SafetensorsType::kU64, "U64", 8},   {SafetensorsType::kI64, "I64", 8},
    {SafetensorsType::kF64, "F64", 8}};

const SafetensorsTypeInfo* TypeByName(absl::string_view name) {
  for (const SafetensorsTypeInfo& info : kTypes) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

std::string TypeNames() {
  return absl::StrJoin(kTypes, ", ", [](std::string* out, const SafetensorsTypeInfo& info) { out->append(info.name); });
}

}  // namespace

const SafetensorsTypeInfo& InfoOf(SafetensorsType type) { return kTypes[static_cast<int>(type)]; }

// The one pass over a file that decides whether the file is valid.
class SafetensorsParser {
 public:
  explicit SafetensorsParser(SafetensorsFile* file) : file_(*file) {}

  absl::Status Parse() {
    if (file_.size_ > kLargestSafetensors) {
      return Wrong("size", absl::StrCat("found ", file_.size_, " bytes, expected at most ", kLargestSafetensors));
    }
    ASSIGN_OR_RETURN(const int64_t length, ReadLength());
    data_begin_ = kSafetensorsLengthBytes + length;
    ASSIGN_OR_RETURN(const JsonValue header, ReadHeader(length));
    const std::vector<std::string> names = header.Keys();
    for (size_t i = 0; i < names.size(); ++i) {
      const JsonValue entry = header[static_cast<int64_t>(i)];
      RETURN_IF_ERROR(names[i] == kSafetensorsMetadata ? ReadMetadata(entry) : ReadTensor(names[i], entry));
    }
    return PlaceTensors();
  }

 private:
  absl::Status Wrong(absl::string_view field, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(file_.path_, ": ", field, ": ", problem));
  }

  absl::StatusOr<int64_t> ReadLength();
  absl::StatusOr<JsonValue> ReadHeader(int64_t length);
  absl::Status ReadMetadata(const JsonValue& entry);
  absl::Status ReadTensor(const std::string& name, const JsonValue& entry);
  absl::Status ReadExtent(const JsonValue& entry, SafetensorsTensor* tensor);
  absl::Status PlaceTensors();

  SafetensorsFile& file_;
  int64_t data_begin_ = 0;   // End of the header.
};

absl::StatusOr<int64_t> SafetensorsParser::ReadLength() {
  constexpr char kField[] = "header length at byte 0";
  const int64_t left = file_.size_ - kSafetensorsLengthBytes;
  if (left < 0) {
    return Wrong(kField, absl::StrCat("the file is truncated: needs ", kSafetensorsLengthBytes, " bytes, ", file_.size_, " left"));
  }
  uint64_t length;
  RETURN_IF_ERROR(file_.ReadBytes(0, absl::MakeSpan(reinterpret_cast<std::byte*>(&length), sizeof length)));
  if (length > static_cast<uint64_t>(SafetensorsFile::kLongestHeader)) {
    return Wrong(kField, absl::StrCat("found ", length, ", expected at most ", SafetensorsFile::kLongestHeader));
  }
  if (length > static_cast<uint64_t>(left)) {
    return Wrong(kField, absl::StrCat("found ", length, ", expected at most ", left, ", the bytes that follow"));
  }
  return static_cast<int64_t>(length);
}

absl::StatusOr<JsonValue> SafetensorsParser::ReadHeader(int64_t length) {
  std::string text(static_cast<size_t>(length), '\0');
  RETURN_IF_ERROR(
      file_.ReadBytes(kSafetensorsLengthBytes, absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), text.size())));
  if (text.empty() || text[0] != '{') {
    const std::string found = Quoted(absl::string_view(text).substr(0, 8));
    return Wrong("header at byte 8", absl::StrCat("found ", found, ", expected JSON that begins with {"));
  }
  // The JSON parser takes a NUL byte for the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    return Wrong(absl::StrCat("header at byte ", zero + kSafetensorsLengthBytes), "found a zero byte, expected JSON");
  }
  return JsonValue::Parse(text, absl::StrCat(file_.path_, ": header"));
}

absl::Status SafetensorsParser::ReadMetadata(const JsonValue& entry) {
  if (!entry.is_object()) return entry.Error(JsonKindName(entry.kind()), "an object of strings");
  const std::vector<std::string> keys = entry.Keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSIGN_OR_RETURN(std::string text, entry[static_cast<int64_t>(i)].AsString());
    file_.metadata_.emplace_back(keys[i], std::move(text));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsParser::ReadTensor(const std::string& name, const JsonValue& entry) {
  const std::string problem = ProblemOfTensorName(name);
  if (!problem.empty()) return file_.WrongTensor(name, "", problem);
  constexpr char kFields[] = "an object of dtype, shape and data_offsets";
  if (!entry.is_object()) return file_.WrongTensor(name, "", absl::StrCat("found ", JsonKindName(entry.kind()), ", expected ", kFields));
  for (const std::string& key : entry.Keys()) {
    if (key == "dtype" || key == "shape" || key == "data_offsets") continue;
    return file_.WrongTensor(name, "", absl::StrCat("found the field ", Quoted(key), ", expected ", kFields, " alone",
                                               DidYouMean(key, {"dtype", "shape", "data_offsets"})));
  }
  SafetensorsTensor tensor = {.name = name, .type = SafetensorsType::kF32, .shape = {}, .count = 0, .size = 0, .offset = 0};
  ASSIGN_OR_RETURN(const std::string type, entry.String("dtype"));
  const SafetensorsTypeInfo* const info = TypeByName(type);
  if (info == nullptr) {
    return file_.WrongTensor(name, "dtype", absl::StrCat("found ", Quoted(type), ", expected one of ", TypeNames()));
  }
  tensor.type = info->type;
  ASSIGN_OR_RETURN(tensor.shape, entry.Ints("shape", 0));
  const absl::StatusOr<int64_t> count = NumbersOfSafetensors(tensor.shape), size = BytesOfSafetensors(tensor.type, tensor.shape);
  if (!size.ok()) return file_.WrongTensor(name, "shape", size.status().message());
  tensor.count = *count, tensor.size = *size;
  RETURN_IF_ERROR(ReadExtent(entry, &tensor));
  file_.tensors_.push_back(std::move(tensor));
  return absl::OkStatus();
}

// Offsets count from the end of the header.
absl::Status SafetensorsParser::ReadExtent(const JsonValue& entry, SafetensorsTensor* tensor) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> found, entry.Ints("data_offsets", 0));
  const auto wrong = [&](absl::string_view expected) {
    return file_.WrongTensor(tensor->name, "data_offsets", absl::StrCat("found [", absl::StrJoin(found, ", "), "], expected ", expected));
  };
  if (found.size() != 2) return wrong("a begin and an end");
  const int64_t begin = found[0], end = found[1], data = file_.size_ - data_begin_;
  if (begin > end) return wrong("an end that is no less than the begin");
  if (end > data) return wrong(absl::StrCat("an end of at most ", data, ", the bytes after the header"));
  if (end - begin != tensor->size) {
    return wrong(absl::StrCat(tensor->size, " bytes for ", InfoOf(tensor->type).name, " [", absl::StrJoin(tensor->shape, ", "), "]"));
  }
  tensor->offset = data_begin_ + begin;
  return absl::OkStatus();
}

// Checks that each byte after the header belongs to one tensor.
absl::Status SafetensorsParser::PlaceTensors() {
  std::vector<SafetensorsTensor>& tensors = file_.tensors_;
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return std::tie(a.offset, a.size, a.name) < std::tie(b.offset, b.size, b.name);
  });
  int64_t end = data_begin_;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SafetensorsTensor& tensor = tensors[i];
    if (tensor.offset != end) {
      return file_.WrongTensor(tensor.name, "data_offsets",
                               absl::StrCat("found a begin of ", tensor.offset - data_begin_, ", expected ", end - data_begin_,
                                            i == 0 ? ", where the data begins"
                                                   : absl::StrCat(", where tensor ", Quoted(tensors[i - 1].name), " ends")));
    }
    end += tensor.size;
    file_.tensor_index_.emplace(tensor.name, i);
  }
  if (end == file_.size_) return absl::OkStatus();
  return Wrong(absl::StrCat("data at byte ", end),
               absl::StrCat("found ", file_.size_ - end, " bytes more, expected none after the last tensor"));
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Checked(std::unique_ptr<SafetensorsFile> file) {
  RETURN_IF_ERROR(SafetensorsParser(file.get()).Parse());
  return file;
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened, RandomAccessFile::Open(path));
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->path_ = path;
  file->size_ = opened->size();
  file->file_ = std::move(opened);
  return Checked(std::move(file));
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Parse(absl::Span<const std::byte> bytes, const std::string& name) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->path_ = name;
  file->size_ = static_cast<int64_t>(bytes.size());
  file->memory_ = bytes;
  return Checked(std::move(file));
}

const std::string* SafetensorsFile::FindMetadata(absl::string_view key) const {
  for (const auto& [name, text] : metadata_) {
    if (name == key) return &text;
  }
  return nullptr;
}

const SafetensorsTensor* SafetensorsFile::FindTensor(absl::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

absl::Status SafetensorsFile::WrongTensor(absl::string_view name, absl::string_view field, absl::string_view problem) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": tensor ", Quoted(name), field.empty() ? "" : " ", field, ": ", problem));
}

absl::Status SafetensorsFile::ReadBytes(int64_t begin, absl::Span<std::byte> out) const {
  if (file_ != nullptr) return file_->Read(begin, out);
  if (!out.empty()) std::memcpy(out.data(), memory_.data() + begin, out.size());
  return absl::OkStatus();
}

absl::Status SafetensorsFile::Read(const SafetensorsTensor& tensor, int64_t begin, absl::Span<std::byte> out) const {
  CHECK(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= tensor.size)
      << tensor.name << ": " << out.size() << " from " << begin;
  const absl::Status status = ReadBytes(tensor.offset + begin, out);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (reading tensor ", Quoted(tensor.name), ")"));
}

absl::Status SafetensorsFile::ReadThrough(UseOfPart use) const {
  std::vector<WantedPart> parts;
  for (const SafetensorsTensor& tensor : tensors_) parts.push_back({.offset = tensor.offset, .size = tensor.size});
  return file_ == nullptr ? UseParts(memory_, parts, use) : tessera::ReadThrough(file_, parts, use);
}

absl::StatusOr<BlockFormat> SafetensorsFile::FormatOf(const SafetensorsTensor& tensor) const {
  switch (tensor.type) {
    case SafetensorsType::kF32: return BlockFormat::kF32;
    case SafetensorsType::kF16: return BlockFormat::kF16;
    case SafetensorsType::kBF16: return BlockFormat::kBF16;
    default: return WrongTensor(tensor.name, "dtype", absl::StrCat("found ", InfoOf(tensor.type).name, ", expected F32, F16 or BF16"));
  }
}

absl::StatusOr<std::vector<std::byte>> SafetensorsFile::ReadFinite(const SafetensorsTensor& tensor) const {
  RETURN_IF_ERROR(FormatOf(tensor).status());
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  RETURN_IF_ERROR(Read(tensor, 0, absl::MakeSpan(bytes)));
  RETURN_IF_ERROR(CheckFinite(tensor, bytes));
  return bytes;
}

absl::Status SafetensorsFile::CheckFinite(const SafetensorsTensor& tensor, absl::Span<const std::byte> bytes) const {
  ASSIGN_OR_RETURN(const BlockFormat format, FormatOf(tensor));
  const NotFiniteBlocks bad = FindNotFinite(format, bytes);
  if (bad.count == 0) return absl::OkStatus();
  return WrongTensor(tensor.name, absl::StrCat("value ", bad.first, " at byte ", tensor.offset + bad.first * InfoOf(tensor.type).bytes),
                     "found a NaN or an infinity, expected finite numbers");
}

absl::StatusOr<std::vector<float>> SafetensorsFile::ReadFloats(const SafetensorsTensor& tensor) const {
  ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFinite(tensor));
  ASSIGN_OR_RETURN(const BlockFormat format, FormatOf(tensor));
  std::vector<float> numbers(static_cast<size_t>(tensor.count));
  InfoOf(format).dequantize(bytes.data(), tensor.count, numbers.data());
  return numbers;
}

}  // namespace tessera
