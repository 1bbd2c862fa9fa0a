// Reads safetensors files, the format of published adapters and draft heads: a header of JSON that names tensors, and the tensors' bytes.
// The bytes are read on demand.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open("adapter_model.safetensors"));
//   for (const SafetensorsTensor& tensor : file->tensors()) {
//     std::vector<std::byte> bytes(tensor.size);
//     RETURN_IF_ERROR(file->Read(tensor, /*begin=*/0, absl::MakeSpan(bytes)));
//   }
//
// The file is hostile until checked: Open verifies every length, type, shape and offset against the file before use. Open allocates no more
// than the header's size justifies, at most some ten times kLongestHeader. Open refuses files that the format forbids: tensors that share
// bytes, bytes that belong to no tensor, names given twice. Open also refuses files without a clear meaning: unknown fields of a tensor,
// names that are not printable UTF-8, more than kMostDimensions dimensions.
//
// Errors: InvalidArgument with file, tensor, the value found and the value expected; NotFound for a missing file. ResourceExhausted for a
// header of more than a million values; DataLoss if the file becomes shorter during reading.
//
// Threads: thread-safe after Open.
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
#include "tessera/base/text_hash.h"
#include "tessera/quant/block_format.h"

namespace tessera {

enum class SafetensorsType : uint8_t { kBool, kU8, kI8, kU16, kI16, kF16, kBF16, kU32, kI32, kF32, kU64, kI64, kF64 };
inline constexpr int kSafetensorsTypes = static_cast<int>(SafetensorsType::kF64) + 1;

struct SafetensorsTypeInfo {
  SafetensorsType type;
  const char* name;   // As in files: "F16".
  int bytes;          // Bytes of one number.
};
const SafetensorsTypeInfo& InfoOf(SafetensorsType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type;
  std::vector<int64_t> shape;  // Slowest dimension first, as in the file: {out_features, in_features}. Empty: one number. May hold 0.
  int64_t count;               // Numbers.
  int64_t size;                // Bytes.
  int64_t offset;              // Start of the bytes in the file.
};

class SafetensorsFile {
 public:
  // Limits, for the memory of a small device: one tensor takes some 120 bytes of a header.
  static constexpr int64_t kLongestHeader = int64_t{16} << 20;
  static constexpr int kMostDimensions = 8;
  static constexpr int kLongestName = 1024;

  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(const std::string& path);
  // Opens bytes in memory, which must outlive the result. `name` is used as the path in messages.
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Parse(absl::Span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // In bytes.

  // Returns texts that describe the file, in the file's order ("__metadata__").
  absl::Span<const std::pair<std::string, std::string>> metadata() const { return metadata_; }
  const std::string* FindMetadata(absl::string_view key) const;        // Null if absent.

  absl::Span<const SafetensorsTensor> tensors() const { return tensors_; }  // Ordered by the place of the bytes.
  const SafetensorsTensor* FindTensor(absl::string_view name) const;        // Null if absent.

  // Fills `out` with the tensor's bytes from `begin` on. Errors name file and tensor. REQUIRES: the range lies in the tensor, which is one
  // of tensors().
  absl::Status Read(const SafetensorsTensor& tensor, int64_t begin, absl::Span<std::byte> out) const;

  // Reads all tensors from the first byte to the last, at the drive's speed. use(i, begin, bytes) gets bytes of tensors()[i] from byte
  // `begin` on, in order. An error of `use` ends the reading. A file outside the page cache is read past the page cache, with at most two
  // mebibytes of the file in memory at once.
  absl::Status ReadThrough(absl::FunctionRef<absl::Status(size_t tensor, int64_t begin, absl::Span<const std::byte> bytes)> use) const;

  // Returns the block format of a tensor of F32, F16 or BF16. Returns InvalidArgument (file, tensor, found, expected) for other types.
  absl::StatusOr<BlockFormat> FormatOf(const SafetensorsTensor& tensor) const;
  // Reads all bytes of a tensor of F32, F16 or BF16. Returns InvalidArgument (file, tensor, the number's place) if a number is a NaN or an
  // infinity.
  absl::StatusOr<std::vector<std::byte>> ReadFinite(const SafetensorsTensor& tensor) const;
  // Like ReadFinite, but widens the numbers to FP32.
  absl::StatusOr<std::vector<float>> ReadFloats(const SafetensorsTensor& tensor) const;
  // Returns the error of ReadFinite and ReadFloats, for bytes that were read in another way. REQUIRES: `bytes` are all bytes of the tensor,
  // which has such a format.
  absl::Status CheckFinite(const SafetensorsTensor& tensor, absl::Span<const std::byte> bytes) const;

  // Calls RandomAccessFile::CheckUnchanged. OK afterwards means that all bytes read came from one file.
  absl::Status CheckUnchanged() const { return file_ == nullptr ? absl::OkStatus() : file_->CheckUnchanged(); }

  // Returns InvalidArgument about a tensor, in the form of all errors: `PATH: tensor "a" shape: PROBLEM`. An empty field: the tensor
  // itself.
  absl::Status WrongTensor(absl::string_view name, absl::string_view field, absl::string_view problem) const;

 private:
  friend class SafetensorsParser;
  SafetensorsFile() = default;
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Checked(std::unique_ptr<SafetensorsFile> file);
  absl::Status ReadBytes(int64_t begin, absl::Span<std::byte> out) const;

  std::string path_;
  int64_t size_ = 0;
  std::shared_ptr<const RandomAccessFile> file_;   // Null for bytes in memory.
  absl::Span<const std::byte> memory_;       // Empty for a file.
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<SafetensorsTensor> tensors_;
  std::unordered_map<std::string, size_t, TextHash, TextEqual> tensor_index_;
};

}  // namespace tessera
