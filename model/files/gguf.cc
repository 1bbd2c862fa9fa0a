#include "tessera/model/files/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_bytes.h"
#include "tessera/model/files/internal/gguf_split.h"

namespace tessera {
namespace {

// Returns element `index` of the value. The element may lie at any address.
template <typename T>
T At(const GgufValue& value, uint64_t index = 0) {
  T element;
  std::memcpy(&element, value.bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

bool IsUnsigned(GgufType type) {
  return type == GgufType::kUint8 || type == GgufType::kUint16 || type == GgufType::kUint32 || type == GgufType::kUint64;
}

bool IsSigned(GgufType type) {
  return type == GgufType::kInt8 || type == GgufType::kInt16 || type == GgufType::kInt32 || type == GgufType::kInt64;
}

// REQUIRES: IsUnsigned(value.element_type).
uint64_t UnsignedAt(const GgufValue& value, uint64_t index) {
  switch (value.element_type) {
    case GgufType::kUint8: return At<uint8_t>(value, index);
    case GgufType::kUint16: return At<uint16_t>(value, index);
    case GgufType::kUint32: return At<uint32_t>(value, index);
    default: return At<uint64_t>(value, index);
  }
}

// REQUIRES: IsSigned(value.element_type).
int64_t SignedAt(const GgufValue& value, uint64_t index) {
  switch (value.element_type) {
    case GgufType::kInt8: return At<int8_t>(value, index);
    case GgufType::kInt16: return At<int16_t>(value, index);
    case GgufType::kInt32: return At<int32_t>(value, index);
    default: return At<int64_t>(value, index);
  }
}

// Returns type and value, for messages: `INT32 -3`, `STRING "chatml"`, `an array of 12 FLOAT32`.
std::string Describe(const GgufValue& value) {
  const absl::string_view type = GgufTypeName(value.element_type);
  if (value.type == GgufType::kArray) return absl::StrCat("an array of ", value.count, " ", type);
  if (IsUnsigned(value.type)) return absl::StrCat(type, " ", UnsignedAt(value, 0));
  if (IsSigned(value.type)) return absl::StrCat(type, " ", SignedAt(value, 0));
  switch (value.type) {
    case GgufType::kFloat32: return absl::StrCat(type, " ", At<float>(value));
    case GgufType::kFloat64: return absl::StrCat(type, " ", At<double>(value));
    case GgufType::kBool: return absl::StrCat(type, At<uint8_t>(value) != 0 ? " true" : " false");
    default: return absl::StrCat(type, " ", Quoted(*value.Strings().begin()));
  }
}

// Returns the start of element `index` in the file. REQUIRES: index < value.count.
int64_t OffsetOf(const GgufValue& value, int64_t index) {
  if (value.element_type != GgufType::kString) {
    return value.offset + index * static_cast<int64_t>(value.bytes.size() / value.count);
  }
  return value.offset + value.Strings().OffsetOf(index);
}

absl::StatusOr<const GgufValue*> FindOrError(const GgufFile& file, absl::string_view key) {
  const GgufValue* value = file.Find(key);
  if (value != nullptr) return value;
  return absl::NotFoundError(absl::StrCat(file.path(), ": metadata ", Quoted(key), ": found no such key"));
}

bool IsArrayOf(const GgufValue& value, GgufType type) { return value.type == GgufType::kArray && value.element_type == type; }

}  // namespace

absl::string_view GgufTypeName(GgufType type) {
  switch (type) {
    case GgufType::kUint8: return "UINT8";
    case GgufType::kInt8: return "INT8";
    case GgufType::kUint16: return "UINT16";
    case GgufType::kInt16: return "INT16";
    case GgufType::kUint32: return "UINT32";
    case GgufType::kInt32: return "INT32";
    case GgufType::kFloat32: return "FLOAT32";
    case GgufType::kBool: return "BOOL";
    case GgufType::kString: return "STRING";
    case GgufType::kArray: return "ARRAY";
    case GgufType::kUint64: return "UINT64";
    case GgufType::kInt64: return "INT64";
    case GgufType::kFloat64: return "FLOAT64";
  }
  return "unknown";
}

GgufFile::GgufFile() = default;
GgufFile::~GgufFile() = default;

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened, RandomAccessFile::Open(path));
  return Open(std::move(opened));
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::Open(std::unique_ptr<RandomAccessFile> opened) {
  const std::string path = opened->path();
  ASSIGN_OR_RETURN(GgufBytes bytes, GgufBytes::Of(std::move(opened)));
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, ParseBytes(std::move(bytes), path));
  ASSIGN_OR_RETURN(const bool split, GgufSplit::IsPart(*file));
  return split ? GgufSplit::Join(std::move(file)) : std::move(file);
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::Parse(absl::Span<const std::byte> bytes, const std::string& name) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, ParseBytes(GgufBytes(bytes), name));
  ASSIGN_OR_RETURN(const bool split, GgufSplit::IsPart(*file));
  if (!split) return file;
  return file->Unexpected("split.count", "1: the other parts are files, and these are bytes in memory");
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::ParseHeaders(std::vector<Header> parts, const std::string& name) {
  std::vector<std::unique_ptr<GgufFile>> files;
  for (Header& part : parts) {
    const int64_t header_bytes = static_cast<int64_t>(part.bytes.span().size());
    if (header_bytes > part.file_bytes || header_bytes > GgufBytes::kLongestHeader) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": header ", files.size(), ": found ", header_bytes,
                                                     " bytes, expected at most ",
                                                     std::min(part.file_bytes, GgufBytes::kLongestHeader)));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, ParseBytes(GgufBytes(std::move(part.bytes), part.file_bytes), name));
    if (file->header_end_ != header_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": header ", files.size(), ": found ", header_bytes,
                                                     " bytes, expected ", file->header_end_,
                                                     ", to the end of the table of tensors"));
    }
    files.push_back(std::move(file));
  }
  return GgufSplit::JoinHeaders(std::move(files), name);
}

absl::Status GgufFile::KeepTensor(absl::string_view name, SharedBytes bytes) {
  const GgufTensor* const tensor = FindTensor(name);
  const int64_t found = static_cast<int64_t>(bytes.span().size());
  if (tensor != nullptr && found == tensor->size) {
    kept_.insert_or_assign(tensor->name, std::move(bytes));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(path_, ": tensor ", Quoted(name), ": found ", found, " bytes beside the header, expected ",
                                                 tensor == nullptr ? "none: the header has no such tensor" : absl::StrCat(tensor->size)));
}

absl::StatusOr<GgufFile::Header> GgufFile::HeaderOf(int part) const {
  const GgufFile& file = Part(part);
  ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes, file.bytes_->Header(file.header_end_));
  const absl::Span<const std::byte> header = bytes.first(file.header_end_);
  return Header{SharedBytes(std::vector<std::byte>(header.begin(), header.end())), file.bytes_->size()};
}

int64_t GgufFile::size() const {
  int64_t size = 0;
  for (int part = 0; part < parts(); ++part) size += Part(part).bytes_->size();
  return size;
}

int64_t GgufFile::CachedBytes() const {
  int64_t cached = 0;
  for (int part = 0; part < parts(); ++part) cached += Part(part).bytes_->CachedBytes();
  return cached;
}

int64_t GgufFile::unused_bytes() const {
  int64_t unused = 0;
  for (int part = 0; part < parts(); ++part) unused += Part(part).unused_bytes_;
  return unused;
}

const GgufValue* GgufFile::Find(absl::string_view key) const {
  const auto found = key_index_.find(key);
  return found == key_index_.end() ? nullptr : &metadata_[found->second].second;
}

absl::Status GgufFile::WrongValue(absl::string_view key, absl::string_view problem, int64_t index) const {
  std::string place = absl::StrCat(path_, ": metadata ", Quoted(key));
  if (const GgufValue* value = Find(key)) {
    absl::StrAppend(&place, " value", index < 0 ? "" : absl::StrCat("[", index, "]"), " at byte ",
                    index < 0 ? value->offset : OffsetOf(*value, index));
  }
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", problem));
}

absl::Status GgufFile::Unexpected(absl::string_view key, absl::string_view expected) const {
  return WrongValue(key, absl::StrCat("found ", Describe(*Find(key)), ", expected ", expected));
}

const GgufTensor* GgufFile::FindTensor(absl::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

absl::Status GgufFile::Read(const GgufTensor& tensor, int64_t begin, absl::Span<std::byte> out) const {
  CHECK(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= tensor.size)
      << tensor.name << ": " << out.size() << " from " << begin;
  const GgufBytes& bytes = *Part(tensor.part).bytes_;
  if (const auto kept = kept_.find(tensor.name); kept != kept_.end()) {
    absl::c_copy(kept->second.span().subspan(static_cast<size_t>(begin), out.size()), out.begin());
    return absl::OkStatus();
  }
  if (bytes.header_only()) {
    return absl::FailedPreconditionError(
        absl::StrCat(PathOf(tensor), ": tensor ", Quoted(tensor.name), ": found its header only, expected its data"));
  }
  const absl::Status status = bytes.Read(tensor.offset + begin, out);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (reading tensor ", Quoted(tensor.name), ")"));
}

absl::Status GgufFile::ReadThrough(UseOfPart use) const {
  for (int part = 0; part < parts(); ++part) {
    const GgufBytes& bytes = *Part(part).bytes_;
    if (bytes.header_only()) {
      return absl::FailedPreconditionError(absl::StrCat(PathOfPart(part), ": found its header only, expected the data of its tensors"));
    }
    std::vector<size_t> order;   // By offset: the table may have any order.
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].part == part) order.push_back(i);
    }
    absl::c_sort(order, [&](size_t a, size_t b) { return tensors_[a].offset < tensors_[b].offset; });
    std::vector<WantedPart> wanted;
    for (const size_t i : order) wanted.push_back({.offset = tensors_[i].offset, .size = tensors_[i].size});
    RETURN_IF_ERROR(bytes.ReadThrough(
        wanted, [&](size_t number, int64_t begin, absl::Span<const std::byte> some) { return use(order[number], begin, some); }));
  }
  return absl::OkStatus();
}

absl::Status GgufFile::CheckUnchanged() const {
  for (int part = 0; part < parts(); ++part) RETURN_IF_ERROR(Part(part).bytes_->CheckUnchanged());
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> GgufFile::String(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (value->type != GgufType::kString) return Unexpected(key, "STRING");
  return *value->Strings().begin();
}

absl::StatusOr<uint64_t> GgufFile::Uint(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (IsUnsigned(value->type)) return UnsignedAt(*value, 0);
  if (IsSigned(value->type) && SignedAt(*value, 0) >= 0) return static_cast<uint64_t>(SignedAt(*value, 0));
  return Unexpected(key, "an integer of 0 or more");
}

absl::StatusOr<int64_t> GgufFile::Int(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (IsSigned(value->type)) return SignedAt(*value, 0);
  if (IsUnsigned(value->type) && UnsignedAt(*value, 0) <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    return static_cast<int64_t>(UnsignedAt(*value, 0));
  }
  return Unexpected(key, "an integer");
}

absl::StatusOr<double> GgufFile::Float(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (value->type == GgufType::kFloat32) return double{At<float>(*value)};
  if (value->type == GgufType::kFloat64) return At<double>(*value);
  return Unexpected(key, "FLOAT32 or FLOAT64");
}

absl::StatusOr<bool> GgufFile::Bool(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (value->type != GgufType::kBool) return Unexpected(key, "BOOL");
  return At<uint8_t>(*value) != 0;
}

absl::StatusOr<LengthPrefixedStrings> GgufFile::Strings(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (!IsArrayOf(*value, GgufType::kString)) return Unexpected(key, "an array of STRING");
  return value->Strings();
}

absl::StatusOr<std::vector<float>> GgufFile::Floats(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (!IsArrayOf(*value, GgufType::kFloat32)) return Unexpected(key, "an array of FLOAT32");
  std::vector<float> numbers(value->count);
  if (!numbers.empty()) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  return numbers;
}

absl::StatusOr<std::vector<int32_t>> GgufFile::Ints(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  const bool is_unsigned = IsArrayOf(*value, GgufType::kUint32);
  if (!is_unsigned && !IsArrayOf(*value, GgufType::kInt32)) return Unexpected(key, "an array of INT32 or UINT32");
  std::vector<int32_t> numbers(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    numbers[i] = At<int32_t>(*value, i);
    if (!is_unsigned || numbers[i] >= 0) continue;
    const uint32_t found = At<uint32_t>(*value, i);
    return WrongValue(key, absl::StrCat("found ", found, ", expected at most ", std::numeric_limits<int32_t>::max()),
                      static_cast<int64_t>(i));
  }
  return numbers;
}

absl::StatusOr<std::vector<bool>> GgufFile::Bools(absl::string_view key) const {
  ASSIGN_OR_RETURN(const GgufValue* value, FindOrError(*this, key));
  if (!IsArrayOf(*value, GgufType::kBool)) return Unexpected(key, "an array of BOOL");
  std::vector<bool> flags(value->count);
  for (uint64_t i = 0; i < value->count; ++i) flags[i] = At<uint8_t>(*value, i) != 0;
  return flags;
}

absl::StatusOr<absl::string_view> GgufFile::StringOr(absl::string_view key, absl::string_view otherwise) const {
  return Find(key) == nullptr ? otherwise : String(key);
}

absl::StatusOr<uint64_t> GgufFile::UintOr(absl::string_view key, uint64_t otherwise) const {
  return Find(key) == nullptr ? otherwise : Uint(key);
}

absl::StatusOr<double> GgufFile::FloatOr(absl::string_view key, double otherwise) const {
  return Find(key) == nullptr ? otherwise : Float(key);
}

absl::StatusOr<bool> GgufFile::BoolOr(absl::string_view key, bool otherwise) const {
  return Find(key) == nullptr ? otherwise : Bool(key);
}

}  // namespace tessera
