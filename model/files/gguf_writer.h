// Writes GGUF model files (version 3): metadata, a table of tensors, and the tensors' bytes, piece by piece as the bytes are made.
//
//   GgufWriter writer;
//   writer.String("general.name", "an example").Number<uint32_t>("general.quantization_version", 2);
//   writer.Tensor("token_embd.weight", BlockFormat::kQ8_0, {/*in_features=*/256, /*out_features=*/1000});
//   RETURN_IF_ERROR(writer.Write("model.gguf", [&](int tensor, GgufWriter::Append append) -> absl::Status {
//     for (int64_t row = 0; row < 1000; ++row) RETURN_IF_ERROR(append(RowOf(tensor, row)));
//     return absl::OkStatus();
//   }));
//
// Memory depends on metadata and names, not on the size of the model: tensors' bytes are not kept. The file is replaced whole or not at all
// (base/file.h). A file that GgufFile would refuse is not written: FileSize, HeaderOnly and Write return the first mistake, InvalidArgument
// with key or tensor, found and expected. Threads: thread-compatible.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/text_hash.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// Returns the GGUF type of a C++ number.
template <typename T>
constexpr GgufType GgufTypeOf() {
  if constexpr (std::is_same_v<T, bool>) return GgufType::kBool;
  if constexpr (std::is_same_v<T, float>) return GgufType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return GgufType::kFloat64;
  constexpr GgufType kUnsigned[] = {GgufType::kUint8, GgufType::kUint16, GgufType::kUint32, GgufType::kUint64};
  constexpr GgufType kSigned[] = {GgufType::kInt8, GgufType::kInt16, GgufType::kInt32, GgufType::kInt64};
  constexpr int kWidth = std::countr_zero(sizeof(T));
  return std::is_signed_v<T> ? kSigned[kWidth] : kUnsigned[kWidth];
}

class GgufWriter {
 public:
  // Adds metadata. Keys keep this order.
  template <typename T>
  GgufWriter& Number(absl::string_view key, T value) { return Entry(key, GgufTypeOf<T>(), BytesOf(value)); }
  template <typename T>
  GgufWriter& Numbers(absl::string_view key, absl::Span<const T> values) {
    std::string bytes;
    for (T value : values) bytes += BytesOf(value);
    return Array(key, GgufTypeOf<T>(), values.size(), bytes);
  }
  GgufWriter& String(absl::string_view key, absl::string_view value);
  GgufWriter& Strings(absl::string_view key, absl::Span<const std::string> values);
  GgufWriter& Copy(absl::string_view key, const GgufValue& value);  // Copies a value of another file.

  // Adds a tensor; Write asks for the tensor's bytes. Tensors keep this order. shape: fastest dimension first, as in GgufTensor.
  GgufWriter& Tensor(absl::string_view name, BlockFormat format, std::vector<int64_t> shape);

  int tensors() const { return static_cast<int>(tensors_.size()); }
  int64_t TensorBytes(int tensor) const { return tensors_[static_cast<size_t>(tensor)].bytes; }
  absl::StatusOr<int64_t> FileSize() const;
  // Returns the result that GgufFile::HeaderOf would have for the file, without writing the file: for models whose numbers nobody reads.
  absl::StatusOr<GgufFile::Header> HeaderOnly() const;

  using Append = absl::FunctionRef<absl::Status(absl::Span<const std::byte> bytes)>;
  // Appends all bytes of tensor number `tensor`, in any number of pieces.
  using Produce = absl::FunctionRef<absl::Status(int tensor, Append append)>;
  using Progress = std::function<void(int64_t done, int64_t total)>;  // Bytes of the file.
  // Writes the file. Returns the errors of `produce`; InvalidArgument (tensor, found, expected) if `produce` appends too many or too few
  // bytes; the system's error if the file cannot be written. After an error `path` is unchanged.
  absl::Status Write(const std::string& path, Produce produce, const Progress& progress = nullptr) const;

 private:
  struct Planned {
    std::string name;
    BlockFormat format;
    std::vector<int64_t> shape;
    int64_t bytes = 0;
    int64_t offset = 0;     // Start of the bytes, relative to the first tensor's bytes.
  };

  template <typename T>
  static std::string BytesOf(T value) {  // Little-endian, like every machine that runs this.
    static_assert(std::endian::native == std::endian::little);
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string Counted(absl::string_view text);
  GgufWriter& Entry(absl::string_view key, GgufType type, absl::string_view bytes);
  GgufWriter& Array(absl::string_view key, GgufType type, size_t count, absl::string_view bytes);
  absl::Status CheckName(absl::string_view what, absl::string_view name, uint64_t longest);
  absl::Status Plan(absl::string_view name, BlockFormat format, std::vector<int64_t> shape);
  std::string UpToTable() const;               // Version, metadata and the table of tensors.
  absl::StatusOr<std::string> Header() const;  // Everything before the tensors' bytes.

  absl::Status status_;         // The first mistake.
  std::string entries_;         // In the file's form.
  uint64_t entry_count_ = 0;
  std::unordered_set<std::string, TextHash, TextEqual> names_;  // "metadata KEY" and "tensor NAME".
  std::vector<Planned> tensors_;
  int64_t data_bytes_ = 0;      // Bytes of all tensors, each padded.
};

}  // namespace tessera
