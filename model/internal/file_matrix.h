// Reads matrices and vectors of a safetensors file, checked and packed for the kernels (quant/matmul.h).
//
//   ASSIGN_OR_RETURN(FileMatrix fc, ReadFileMatrix(file, "fc.weight", width, 3 * width));
//   RETURN_IF_ERROR(MatMul(*fc.matrix, x, y, pool, scratch));
//   ASSIGN_OR_RETURN(std::vector<float> norm, ReadFileVector(file, "norm.weight", width));
//
// Numbers keep the file's 32 or 16 bits. Errors: InvalidArgument with file, tensor, found and expected for a missing tensor, another shape
// or type, or a number that is not finite; ResourceExhausted. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {

struct FileMatrix {
  AlignedBuffer buffer;
  std::optional<PackedMatrix> matrix;   // Views the buffer's bytes. nullopt: no matrix.
};

// Finds a tensor that must have this shape. The type is not checked.
absl::StatusOr<const SafetensorsTensor*> FindShaped(const SafetensorsFile& file, absl::string_view name, absl::Span<const int64_t> shape);

absl::StatusOr<FileMatrix> ReadFileMatrix(const SafetensorsFile& file, absl::string_view name, int64_t rows, int64_t columns);
absl::StatusOr<std::vector<float>> ReadFileVector(const SafetensorsFile& file, absl::string_view name, int64_t size);

}  // namespace tessera
