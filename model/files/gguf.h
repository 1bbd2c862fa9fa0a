// Reads GGUF model files (versions 2 and 3, little-endian): metadata and a table of tensors. The tensors' bytes are read on demand.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open("model.gguf"));
//   ASSIGN_OR_RETURN(absl::string_view architecture, file->String("general.architecture"));
//   ASSIGN_OR_RETURN(uint64_t layers, file->Uint(absl::StrCat(architecture, ".block_count")));
//   for (const GgufTensor& tensor : file->tensors()) {
//     std::vector<std::byte> bytes(tensor.size);
//     RETURN_IF_ERROR(file->Read(tensor, /*begin=*/0, absl::MakeSpan(bytes)));
//   }
//
// A model that was split into model-00001-of-00003.gguf and so on is opened by any part, and read as one file. The file is hostile until
// checked: Open verifies every count, length, offset and size against the file before use, and allocates no more than the file's size
// justifies.
//
// Errors: InvalidArgument with file, field, byte offset, the value found and the value expected; NotFound for a missing file or key.
// DataLoss if the file becomes shorter during reading.
//
// Lifetime: metadata is in memory and lives as long as the GgufFile.
//
// Threads: thread-safe after Open.
//
// For the rules beyond the rules of the format see model/files/gguf_parser.cc and, for split models, model/files/internal/gguf_split.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/base/shared_bytes.h"
#include "tessera/base/text_hash.h"
#include "tessera/quant/block_format.h"

namespace tessera {

class GgufBytes;

enum class GgufType : uint32_t {
  kUint8 = 0, kInt8 = 1, kUint16 = 2, kInt16 = 3, kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7,
  kString = 8, kArray = 9, kUint64 = 10, kInt64 = 11, kFloat64 = 12,
};
absl::string_view GgufTypeName(GgufType type);  // "UINT8", "STRING", ...

// One metadata entry: a view into the file.
struct GgufValue {
  GgufType type;                              // kArray: see element_type.
  GgufType element_type;                      // The type of an array's elements, never kArray; else equal to type.
  uint64_t count = 1;                         // Elements of an array; else 1.
  absl::Span<const std::byte> bytes;          // The raw little-endian elements. Strings have their lengths in front.
  int64_t offset = 0;                         // Start of the value in the file, for messages.

  // Returns a string, or the strings of an array. REQUIRES: element_type == kString.
  LengthPrefixedStrings Strings() const { return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, count}; }
};

struct GgufTensor {
  absl::string_view name;
  std::vector<int64_t> shape;                 // Fastest dimension first, as in the file: {in_features, out_features}.
  const BlockFormatInfo* format;
  int64_t size;                               // In bytes.
  int64_t offset;                             // Start of the bytes in the tensor's file.
  int64_t shape_offset;                       // Start of the shape in the tensor's file, for messages.
  int part = 0;                               // The file of a split model, from 0.
};

// A tensor in a format that is not read. Only tensors that change no text of some architecture may have such a format
// (model/files/internal/architecture.h). For any other such tensor Open refuses the file.
struct GgufUnreadTensor {
  absl::string_view name;
  absl::Status problem;                       // File, tensor, type found and types expected.
};

class GgufFile {
 public:
  static absl::StatusOr<std::unique_ptr<GgufFile>> Open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<GgufFile>> Open(std::unique_ptr<RandomAccessFile> file);
  // Opens bytes in memory, which must outlive the result. `name` is used as the path in messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Parse(absl::Span<const std::byte> bytes, const std::string& name);
  // Opens headers alone, from HeaderOf, of all parts of a model in order. For models whose tensors' data is kept in another form. Every
  // function works, but Read works only for tensors of KeepTensor. Sizes and offsets are checked against the size of each original file.
  struct Header { SharedBytes bytes; int64_t file_bytes; };
  static absl::StatusOr<std::unique_ptr<GgufFile>> ParseHeaders(std::vector<Header> parts, const std::string& name);
  // Keeps the bytes of a tensor, for headers alone. Read then returns the bytes. Returns InvalidArgument (tensor, found, expected) if the
  // header has no such tensor, or a tensor of another size.
  absl::Status KeepTensor(absl::string_view name, SharedBytes bytes);
  ~GgufFile();

  // Returns all bytes of the file in front of the tensors' data: version, metadata, the table of tensors. REQUIRES: 0 <= part < parts().
  absl::StatusOr<Header> HeaderOf(int part) const;

  const std::string& path() const { return path_; }                  // A split model has the path of its first part.
  uint32_t version() const { return version_; }
  int64_t size() const;                                              // In bytes, of all parts.
  int64_t CachedBytes() const;                                       // Bytes of all parts in the page cache now (RandomAccessFile).
  int64_t unused_bytes() const;      // Between tensors beyond the alignment, and after the last.
  // A split model has parts 0 to parts() - 1; any other model has only part 0.
  int parts() const { return 1 + static_cast<int>(more_parts_.size()); }
  const std::string& PathOfPart(int part) const { return Part(part).path_; }  // REQUIRES: 0 <= part < parts().
  const std::string& PathOf(const GgufTensor& tensor) const { return PathOfPart(tensor.part); }

  // Keys in file order, for printing.
  absl::Span<const std::pair<absl::string_view, GgufValue>> metadata() const { return metadata_; }
  const GgufValue* Find(absl::string_view key) const;  // Null if absent.
  // Returns InvalidArgument with file, key and byte offset in front of the problem, which reads "found 3, expected 4". `index` is the wrong
  // element, or -1 for the whole value. If the key is absent and the default is refused, there is no offset.
  absl::Status WrongValue(absl::string_view key, absl::string_view problem, int64_t index = -1) const;
  // Returns WrongValue with the problem "found TYPE VALUE, expected ...". REQUIRES: the key is present.
  absl::Status Unexpected(absl::string_view key, absl::string_view expected) const;

  // Typed access. Returns NotFound if the key is absent; InvalidArgument (file, key, type found, type expected, value) if the type does not
  // fit. Uint takes any integer type with a value >= 0, Int any value that fits; Float takes both float widths.
  absl::StatusOr<absl::string_view> String(absl::string_view key) const;
  absl::StatusOr<uint64_t> Uint(absl::string_view key) const;
  absl::StatusOr<int64_t> Int(absl::string_view key) const;
  absl::StatusOr<double> Float(absl::string_view key) const;
  absl::StatusOr<bool> Bool(absl::string_view key) const;
  absl::StatusOr<LengthPrefixedStrings> Strings(absl::string_view key) const;
  absl::StatusOr<std::vector<float>> Floats(absl::string_view key) const;   // Array of FLOAT32.
  absl::StatusOr<std::vector<int32_t>> Ints(absl::string_view key) const;   // Array of INT32 or UINT32; each element must fit.
  absl::StatusOr<std::vector<bool>> Bools(absl::string_view key) const;     // Array of BOOL.

  // Typed access with a default for an absent key; a key of the wrong type is still an error.
  absl::StatusOr<absl::string_view> StringOr(absl::string_view key, absl::string_view otherwise) const;
  absl::StatusOr<uint64_t> UintOr(absl::string_view key, uint64_t otherwise) const;
  absl::StatusOr<double> FloatOr(absl::string_view key, double otherwise) const;
  absl::StatusOr<bool> BoolOr(absl::string_view key, bool otherwise) const;

  absl::Span<const GgufTensor> tensors() const { return tensors_; }  // In file order.
  const GgufTensor* FindTensor(absl::string_view name) const;        // Null if absent.
  absl::Span<const GgufUnreadTensor> unread_tensors() const { return unread_tensors_; }  // Tensors outside tensors().
  // Fills `out` with the tensor's bytes from `begin` on. Errors name file and tensor. Returns FailedPrecondition if there are only headers.
  // REQUIRES: the range lies in the tensor.
  absl::Status Read(const GgufTensor& tensor, int64_t begin, absl::Span<std::byte> out) const;
  // Reads all tensors, part by part and from the first byte of a part to the last, at the drive's speed. use(i, begin, bytes) gets bytes of
  // tensors()[i] from byte `begin` on, in order. An error of `use` ends the reading. A file outside the page cache is read past the page
  // cache, with at most two mebibytes of the file in memory at once. Returns FailedPrecondition like Read.
  absl::Status ReadThrough(absl::FunctionRef<absl::Status(size_t tensor, int64_t begin, absl::Span<const std::byte> bytes)> use) const;
  // Calls RandomAccessFile::CheckUnchanged for each part. OK afterwards means that all bytes read came from one file. A GGUF file has no
  // checksums, so a writer that restores the modification time is not noticed.
  absl::Status CheckUnchanged() const;

 private:
  friend class GgufParser;
  friend class GgufSplit;
  GgufFile();
  template <typename Value>
  using ByName = std::unordered_map<absl::string_view, Value, TextHash, TextEqual>;
  static absl::StatusOr<std::unique_ptr<GgufFile>> ParseBytes(GgufBytes bytes, const std::string& path);
  const GgufFile& Part(int part) const { return part == 0 ? *this : *more_parts_[static_cast<size_t>(part - 1)]; }

  std::string path_;
  std::unique_ptr<GgufBytes> bytes_;
  uint32_t version_ = 0;
  int64_t header_end_ = 0;                             // End of the table of tensors.
  int64_t unused_bytes_ = 0;
  std::vector<std::pair<absl::string_view, GgufValue>> metadata_;
  ByName<size_t> key_index_;
  std::vector<GgufTensor> tensors_;
  ByName<size_t> tensor_index_;
  std::vector<GgufUnreadTensor> unread_tensors_;
  ByName<SharedBytes> kept_;  // Bytes of tensors, for a header alone.
  std::vector<std::unique_ptr<GgufFile>> more_parts_;  // All parts of a split model except the first.
};

}  // namespace tessera
