// Reads GGUF model files (versions 2 and 3, little-endian): metadata and a table of tensors over a mapped file.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open("model.gguf"));
//   ASSIGN_OR_RETURN(absl::string_view architecture, file->String("general.architecture"));
//   ASSIGN_OR_RETURN(uint64_t layers, file->Uint(absl::StrCat(architecture, ".block_count")));
//   for (const GgufTensor& tensor : file->tensors()) Use(tensor.name, tensor.bytes);
//
// The file is hostile until checked: Open verifies every count, length, offset and size against the file before it is used,
// and allocates nothing the file's size does not justify. Errors are InvalidArgument with file, field, byte offset, the value
// found and the value expected; NotFound for a missing file or key. Everything returned points into the mapping and is valid
// while the GgufFile lives. Thread-safe after Open. The rules that go beyond the format's own: model/gguf_parser.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"
#include "tessera/quant/block_format.h"

namespace tessera {

enum class GgufType : uint32_t {
  kUint8 = 0, kInt8 = 1, kUint16 = 2, kInt16 = 3, kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7,
  kString = 8, kArray = 9, kUint64 = 10, kInt64 = 11, kFloat64 = 12,
};
absl::string_view GgufTypeName(GgufType type);  // "UINT8", "STRING", ...

// One metadata entry. Scalars and strings are views into the file; an array of strings keeps one view per element.
struct GgufValue {
  GgufType type;                              // kArray: see element_type.
  GgufType element_type;                      // Of an array, never kArray; else equal to type.
  uint64_t count = 1;                         // Elements of an array; else 1.
  absl::Span<const std::byte> bytes;          // The raw little-endian elements (not for strings).
  std::vector<absl::string_view> strings;     // One per element, for a string or an array of strings.
  int64_t offset = 0;                         // Where the value starts in the file, for messages.
};

struct GgufTensor {
  absl::string_view name;
  std::vector<int64_t> shape;                 // Fastest dimension first, as in the file: {in_features, out_features}.
  const BlockFormatInfo* format;
  absl::Span<const std::byte> bytes;          // Exactly the tensor's size.
  int64_t offset;                             // Of the bytes in the file.
};

class GgufFile {
 public:
  static absl::StatusOr<std::unique_ptr<GgufFile>> Open(const std::string& path);
  // The same over bytes in memory, which must outlive the result. `name` stands for the path in messages.
  static absl::StatusOr<std::unique_ptr<GgufFile>> Parse(absl::Span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

  // Keys in file order, for printing.
  absl::Span<const std::pair<absl::string_view, GgufValue>> metadata() const { return metadata_; }
  const GgufValue* Find(absl::string_view key) const;  // Null if absent.

  // Typed access. NotFound if the key is absent; InvalidArgument (file, key, type found, type expected, value) if the type does
  // not fit. Uint takes any integer type with a value >= 0; Float takes both float widths.
  absl::StatusOr<absl::string_view> String(absl::string_view key) const;
  absl::StatusOr<uint64_t> Uint(absl::string_view key) const;
  absl::StatusOr<double> Float(absl::string_view key) const;
  absl::StatusOr<bool> Bool(absl::string_view key) const;
  absl::StatusOr<absl::Span<const absl::string_view>> Strings(absl::string_view key) const;
  absl::StatusOr<std::vector<float>> Floats(absl::string_view key) const;   // Array of FLOAT32.
  absl::StatusOr<std::vector<int32_t>> Ints(absl::string_view key) const;   // Array of INT32 or UINT32; each must fit.

  // The same with a default for an absent key; a key of the wrong type is still an error.
  absl::StatusOr<absl::string_view> StringOr(absl::string_view key, absl::string_view otherwise) const;
  absl::StatusOr<uint64_t> UintOr(absl::string_view key, uint64_t otherwise) const;
  absl::StatusOr<double> FloatOr(absl::string_view key, double otherwise) const;
  absl::StatusOr<bool> BoolOr(absl::string_view key, bool otherwise) const;

  absl::Span<const GgufTensor> tensors() const { return tensors_; }  // In file order.
  const GgufTensor* FindTensor(absl::string_view name) const;        // Null if absent.
  // Tells the system that the tensor's bytes are not needed again (MappedFile::Forget). They stay readable.
  void Forget(const GgufTensor& tensor) const { Forget(tensor, 0, static_cast<int64_t>(tensor.bytes.size())); }
  // The same for `size` bytes of it from `begin` on.
  void Forget(const GgufTensor& tensor, int64_t begin, int64_t size) const;

 private:
  friend class GgufParser;
  GgufFile() = default;

  std::string path_;
  std::unique_ptr<MappedFile> file_;  // Null after Parse.
  absl::Span<const std::byte> bytes_;
  uint32_t version_ = 0;
  std::vector<std::pair<absl::string_view, GgufValue>> metadata_;
  absl::flat_hash_map<absl::string_view, size_t> key_index_;
  std::vector<GgufTensor> tensors_;
  absl::flat_hash_map<absl::string_view, size_t> tensor_index_;
};

}  // namespace tessera
