// The one pass over a GGUF file that decides whether the file is valid. Refuses files that the format forbids, and in addition:
//
//   - nested arrays (no model has them, and their depth would be the file's choice);
//   - metadata and a table of tensors longer than GgufBytes::kLongestHeader, which are all that is kept in memory;
//   - files, and models in parts, of more than GgufBytes::kLargestModel, whose sizes could not be added;
//   - more than kMostEntries or kMostTensors: the only things that take more memory than their bytes in the file;
//   - keys and names that are not printable UTF-8, and a key or name that occurs twice, since it is unclear which one counts.
//
// Accepted are tensors in any order, gaps between tensors, and bytes after the last tensor. A tensor in a format that is not read is
// accepted if, by its name, no text depends on the tensor. Lists grow as entries are read, never by a count that the file states. Memory
// therefore depends only on the read bytes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/internal/gguf_cursor.h"
#include "tessera/model/files/internal/gguf_rules.h"

namespace tessera {
namespace {

constexpr uint32_t kReversedMagic = 0x47475546;  // "FUGG": a big-endian file by a tool that also reversed the magic.
constexpr uint64_t kSmallestEntry = 8 + 1 + 4 + 1;             // Key length, a key, type, a byte.
constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 8 + 4 + 8;  // Name length, a name, n_dims, a dimension, type, offset.
constexpr uint64_t kAnyLength = std::numeric_limits<uint64_t>::max();

uint64_t BytesOfElement(GgufType type) {  // For a string: bytes of the length, the minimum.
  switch (type) {
    case GgufType::kUint8: case GgufType::kInt8: case GgufType::kBool: return 1;
    case GgufType::kUint16: case GgufType::kInt16: return 2;
    case GgufType::kUint32: case GgufType::kInt32: case GgufType::kFloat32: return 4;
    default: return 8;
  }
}

}  // namespace

class GgufParser {
 public:
  explicit GgufParser(GgufFile* file) : file_(*file), cursor_(file->bytes_.get(), file->path_) {}

  absl::Status Parse();

 private:
  absl::Status ParseHeader();
  absl::StatusOr<uint64_t> ReadCount(const char* field, absl::string_view thing, uint64_t each, uint64_t most);
  absl::Status ParseEntry(uint64_t index);
  absl::StatusOr<GgufType> ParseType(const char* field);
  absl::Status ParseArrayHead(GgufValue* value);
  absl::Status ParseElements(GgufValue* value);
  absl::Status ParseStrings(GgufValue* value);
  absl::Status CheckBools(const GgufValue& value);
  absl::Status ReadAlignment();
  absl::Status ParseTensor(uint64_t index);
  absl::Status ParseShape(GgufTensor* tensor);
  absl::StatusOr<int64_t> SizeOf(const GgufTensor& tensor);
  absl::Status PlaceTensors();
  absl::Status CheckNoOverlap();

  GgufFile& file_;
  GgufCursor cursor_;
  uint64_t metadata_count_ = 0, tensor_count_ = 0;
  uint32_t alignment_ = kDefaultAlignment;
};

absl::Status GgufParser::Parse() {
  RETURN_IF_ERROR(ParseHeader());
  for (uint64_t i = 0; i < metadata_count_; ++i) RETURN_IF_ERROR(ParseEntry(i));
  RETURN_IF_ERROR(ReadAlignment());
  for (uint64_t i = 0; i < tensor_count_; ++i) RETURN_IF_ERROR(ParseTensor(i));
  file_.header_end_ = cursor_.offset();
  RETURN_IF_ERROR(PlaceTensors());
  return CheckNoOverlap();
}

absl::Status GgufParser::ParseHeader() {
  ASSIGN_OR_RETURN(const uint32_t magic, cursor_.Read<uint32_t>("magic"));
  if (magic == kReversedMagic) {
    return cursor_.Error("magic", "found \"FUGG\", a big-endian file, expected \"GGUF\" (little-endian)");
  }
  if (magic != kGgufMagic) {
    const absl::string_view text(reinterpret_cast<const char*>(&magic), sizeof magic);
    return cursor_.Error("magic", absl::StrCat("found ", Quoted(text), ", expected \"GGUF\""));
  }
  ASSIGN_OR_RETURN(file_.version_, cursor_.Read<uint32_t>("version"));
  const uint32_t version = file_.version_;
  if (version != 0 && (version & 0xffff) == 0) {
    return cursor_.Error("version", absl::StrCat("found ", version, ", a big-endian file of version ", __builtin_bswap32(version),
                                                 ", expected a little-endian file"));
  }
  if (version == 1) {
    return cursor_.Error("version", "found 1, an early form with 32-bit lengths, expected 2 or 3; convert the model again");
  }
  if (version != 2 && version != 3) return cursor_.Error("version", absl::StrCat("found ", version, ", expected 2 or 3"));

  ASSIGN_OR_RETURN(tensor_count_, ReadCount("tensor_count", "a tensor", kSmallestTensor, kMostTensors));
  ASSIGN_OR_RETURN(metadata_count_, ReadCount("metadata_count", "an entry", kSmallestEntry, kMostEntries));
  return absl::OkStatus();
}

// Reads a number of things, at most `most`, of `each` bytes or more: the file must have enough bytes left.
absl::StatusOr<uint64_t> GgufParser::ReadCount(const char* field, absl::string_view thing, uint64_t each, uint64_t most) {
  ASSIGN_OR_RETURN(const uint64_t count, cursor_.Read<uint64_t>(field));
  const uint64_t left = cursor_.left();
  if (count > left / each) {
    return cursor_.Error(field, absl::StrCat("found ", count, ", expected at most ", left / each, " (", left, " bytes left, ",
                                             thing, " takes ", each, " or more)"));
  }
  if (count > most) return cursor_.Error(field, absl::StrCat("found ", count, ", expected at most ", most));
  return count;
}

absl::Status GgufParser::ParseEntry(uint64_t index) {
  cursor_.Enter(absl::StrCat("metadata[", index, "]"));
  ASSIGN_OR_RETURN(const absl::string_view key, cursor_.ReadString("key", 1, kLongestKey));
  if (!IsPrintableUtf8(key)) return cursor_.Error("key", absl::StrCat("found ", Quoted(key), ", expected printable UTF-8"));
  if (!file_.key_index_.emplace(key, file_.metadata_.size()).second) {
    return cursor_.Error("key", absl::StrCat("found ", Quoted(key), " a second time, expected each key once"));
  }
  cursor_.Enter(absl::StrCat("metadata ", Quoted(key)));
  GgufValue value;
  ASSIGN_OR_RETURN(value.type, ParseType("type"));
  value.element_type = value.type;
  if (value.type == GgufType::kArray) RETURN_IF_ERROR(ParseArrayHead(&value));
  value.offset = cursor_.offset();
  if (value.element_type == GgufType::kString) {
    RETURN_IF_ERROR(ParseStrings(&value));
  } else {
    RETURN_IF_ERROR(ParseElements(&value));
  }
  file_.metadata_.emplace_back(key, std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<GgufType> GgufParser::ParseType(const char* field) {
  ASSIGN_OR_RETURN(const uint32_t type, cursor_.Read<uint32_t>(field));
  if (type > static_cast<uint32_t>(GgufType::kFloat64)) {
    return cursor_.Error(field, absl::StrCat("found ", type, ", expected 0 (UINT8) to 12 (FLOAT64)"));
  }
  return static_cast<GgufType>(type);
}

absl::Status GgufParser::ParseArrayHead(GgufValue* value) {
  ASSIGN_OR_RETURN(value->element_type, ParseType("element_type"));
  if (value->element_type == GgufType::kArray) {
    return cursor_.Error("element_type", "found 9 (ARRAY), expected any other type: nested arrays are not supported");
  }
  ASSIGN_OR_RETURN(value->count, cursor_.Read<uint64_t>("count"));
  const uint64_t each = BytesOfElement(value->element_type), most = cursor_.left() / each;
  if (value->count > most) {
    return cursor_.Error("count", absl::StrCat("found ", value->count, ", expected at most ", most, " (", cursor_.left(),
                                               " bytes left, ", GgufTypeName(value->element_type), " takes ", each,
                                               value->element_type == GgufType::kString ? " or more)" : ")"));
  }
  return absl::OkStatus();
}

absl::Status GgufParser::ParseElements(GgufValue* value) {
  // No overflow: ParseArrayHead has checked the count against the bytes left; a scalar counts 1.
  ASSIGN_OR_RETURN(value->bytes, cursor_.Take(value->count * BytesOfElement(value->element_type), "value"));
  return value->element_type == GgufType::kBool ? CheckBools(*value) : absl::OkStatus();
}

absl::Status GgufParser::CheckBools(const GgufValue& value) {
  for (size_t i = 0; i < value.bytes.size(); ++i) {
    const int found = std::to_integer<int>(value.bytes[i]);
    if (found <= 1) continue;
    return cursor_.ErrorAt(value.offset + static_cast<int64_t>(i), "value",
                           absl::StrCat("found ", found, ", expected 0 or 1 for a BOOL"),
                           value.type == GgufType::kArray ? static_cast<int64_t>(i) : -1);
  }
  return absl::OkStatus();
}

absl::Status GgufParser::ParseStrings(GgufValue* value) {
  const bool array = value->type == GgufType::kArray;
  for (uint64_t i = 0; i < value->count; ++i) {
    if (cursor_.SkipString()) continue;
    RETURN_IF_ERROR(cursor_.ReadString("value", 0, kAnyLength, array ? static_cast<int64_t>(i) : -1).status());
  }
  value->bytes = cursor_.Since(value->offset);
  return absl::OkStatus();
}

absl::Status GgufParser::ReadAlignment() {
  const GgufValue* value = file_.Find("general.alignment");
  if (value == nullptr) return absl::OkStatus();
  cursor_.Enter("metadata \"general.alignment\"");
  if (value->type != GgufType::kUint32) {
    return cursor_.ErrorAt(value->offset, "value", absl::StrCat("found type ", GgufTypeName(value->type), ", expected UINT32"));
  }
  std::memcpy(&alignment_, value->bytes.data(), sizeof alignment_);
  if (!std::has_single_bit(alignment_) || alignment_ < 8 || alignment_ > 65536) {
    return cursor_.ErrorAt(value->offset, "value",
                           absl::StrCat("found ", alignment_, ", expected a power of two from 8 to 65536"));
  }
  return absl::OkStatus();
}

absl::Status GgufParser::ParseTensor(uint64_t index) {
  cursor_.Enter(absl::StrCat("tensor[", index, "]"));
  GgufTensor tensor;
  ASSIGN_OR_RETURN(tensor.name, cursor_.ReadString("name", 1, kLongestName));
  if (!IsPrintableUtf8(tensor.name)) {
    return cursor_.Error("name", absl::StrCat("found ", Quoted(tensor.name), ", expected printable UTF-8"));
  }
  const auto [place, is_new] = file_.tensor_index_.emplace(tensor.name, file_.tensors_.size());
  if (!is_new) {
    return cursor_.Error("name", absl::StrCat("found ", Quoted(tensor.name), " a second time, expected each name once"));
  }
  cursor_.Enter(absl::StrCat("tensor ", Quoted(tensor.name)));
  tensor.shape_offset = cursor_.offset();
  RETURN_IF_ERROR(ParseShape(&tensor));
  ASSIGN_OR_RETURN(const uint32_t type, cursor_.Read<uint32_t>("type"));
  absl::StatusOr<const BlockFormatInfo*> format = BlockFormatByGgufType(type);
  if (!format.ok()) {
    const absl::Status problem = cursor_.Error("type", format.status().message());
    if (!HarmlessForSome(tensor.name)) return problem;
    file_.tensor_index_.erase(place);
    file_.unread_tensors_.push_back({tensor.name, problem});
    return cursor_.Read<uint64_t>("offset").status();
  }
  tensor.format = *format;
  ASSIGN_OR_RETURN(tensor.size, SizeOf(tensor));
  ASSIGN_OR_RETURN(const uint64_t offset, cursor_.Read<uint64_t>("offset"));
  if (offset % alignment_ != 0 || offset > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return cursor_.Error("offset", absl::StrCat("found ", offset, ", expected a multiple of ", alignment_, " within the file"));
  }
  tensor.offset = static_cast<int64_t>(offset);  // From the start of the data, until PlaceTensors knows this start.
  file_.tensors_.push_back(std::move(tensor));
  return absl::OkStatus();
}

absl::Status GgufParser::ParseShape(GgufTensor* tensor) {
  ASSIGN_OR_RETURN(const uint32_t dimensions, cursor_.Read<uint32_t>("n_dims"));
  if (dimensions < 1 || dimensions > kMostDimensions) {
    return cursor_.Error("n_dims", absl::StrCat("found ", dimensions, ", expected 1 to ", kMostDimensions));
  }
  for (uint32_t i = 0; i < dimensions; ++i) {
    ASSIGN_OR_RETURN(const uint64_t length, cursor_.Read<uint64_t>("ne", i));
    if (length < 1 || length > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return cursor_.Error("ne", absl::StrCat("found ", length, ", expected 1 to ", std::numeric_limits<int64_t>::max()), i);
    }
    tensor->shape.push_back(static_cast<int64_t>(length));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> GgufParser::SizeOf(const GgufTensor& tensor) {
  const absl::StatusOr<int64_t> size = BytesOfTensor(tensor.format->format, tensor.shape);
  if (!size.ok()) return cursor_.ErrorAt(tensor.shape_offset, "shape", size.status().message());
  return *size;
}

absl::Status GgufParser::PlaceTensors() {
  if (file_.tensors_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t start, CheckedAlignUp(cursor_.offset(), alignment_));
  for (GgufTensor& tensor : file_.tensors_) {
    cursor_.Enter(absl::StrCat("tensor ", Quoted(tensor.name)));
    const absl::StatusOr<int64_t> begin = CheckedAdd(start, tensor.offset);
    if (!begin.ok()) return cursor_.ErrorAt(start, "data", begin.status().message());
    const int64_t left = std::max<int64_t>(0, file_.bytes_->size() - *begin);
    if (tensor.size > left) {
      return cursor_.ErrorAt(*begin, "data",
                             absl::StrCat("the file is truncated: needs ", tensor.size, " bytes, ", left, " left"));
    }
    tensor.offset = *begin;
  }
  return absl::OkStatus();
}

// Tensors may not share bytes. Counts the bytes that belong to no tensor.
absl::Status GgufParser::CheckNoOverlap() {
  std::vector<const GgufTensor*> order;
  for (const GgufTensor& tensor : file_.tensors_) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  int64_t end = cursor_.offset();
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->offset < end) {
      cursor_.Enter(absl::StrCat("tensor ", Quoted(order[i]->name)));
      return cursor_.ErrorAt(order[i]->offset, "data",
                             absl::StrCat("overlaps tensor ", Quoted(order[i - 1]->name), ", expected byte ", end, " or later"));
    }
    file_.unused_bytes_ += order[i]->offset - std::min(order[i]->offset, AlignUp(end, alignment_));
    end = order[i]->offset + order[i]->size;
  }
  file_.unused_bytes_ += std::max<int64_t>(0, file_.bytes_->size() - AlignUp(end, alignment_));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::ParseBytes(GgufBytes bytes, const std::string& path) {
  if (bytes.size() > GgufBytes::kLargestModel) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": size: found ", bytes.size(), " bytes, expected at most ", GgufBytes::kLargestModel));
  }
  std::unique_ptr<GgufFile> file(new GgufFile);
  file->path_ = path;
  file->bytes_ = std::make_unique<GgufBytes>(std::move(bytes));
  RETURN_IF_ERROR(GgufParser(file.get()).Parse());
  return file;
}

}  // namespace tessera
