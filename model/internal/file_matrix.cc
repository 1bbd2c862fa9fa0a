#include "tessera/model/internal/file_matrix.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<const SafetensorsTensor*> FindShaped(const SafetensorsFile& file, absl::string_view name, absl::Span<const int64_t> shape) {
  const std::string expected = absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  if (tensor == nullptr) return file.WrongTensor(name, "", absl::StrCat("found nothing, expected ", expected));
  if (std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) return tensor;
  return file.WrongTensor(name, "shape", absl::StrCat("found [", absl::StrJoin(tensor->shape, ", "), "], expected ", expected));
}

absl::StatusOr<FileMatrix> ReadFileMatrix(const SafetensorsFile& file, absl::string_view name, int64_t rows, int64_t columns) {
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(file, name, {rows, columns}));
  ASSIGN_OR_RETURN(const BlockFormat format, file.FormatOf(*tensor));
  ASSIGN_OR_RETURN(const std::vector<std::byte> numbers, file.ReadFinite(*tensor));
  const MatrixSpec spec = {std::string(name), format, rows, columns};
  ASSIGN_OR_RETURN(const int64_t bytes, PackedMatrix::BytesFor(spec));
  FileMatrix packed;
  ASSIGN_OR_RETURN(packed.buffer, AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kLarge, absl::StrCat(file.path(), ": ", name)));
  RETURN_IF_ERROR(PackedMatrix::Pack(spec, numbers, packed.buffer.bytes()));
  ASSIGN_OR_RETURN(packed.matrix, PackedMatrix::Open(spec, packed.buffer.bytes()));
  return packed;
}

absl::StatusOr<std::vector<float>> ReadFileVector(const SafetensorsFile& file, absl::string_view name, int64_t size) {
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(file, name, {size}));
  return file.ReadFloats(*tensor);
}

}  // namespace tessera
