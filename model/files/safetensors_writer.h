// Writes safetensors files: a header that names tensors, and the tensors' bytes. The bytes of each tensor come in order, piece by piece.
//
//   ASSIGN_OR_RETURN(SafetensorsWriter writer,
//                    SafetensorsWriter::Create("states.safetensors", {{"tokens", SafetensorsType::kI32, {count}},
//                                                                     {"hidden.15", SafetensorsType::kF32, {count, width}}}));
//   for (int row = 0; row < count; ++row) RETURN_IF_ERROR(writer.Append(/*tensor=*/1, BytesOfRow(row)));
//   RETURN_IF_ERROR(writer.Append(/*tensor=*/0, all_tokens));
//   RETURN_IF_ERROR(writer.Commit());
//
// Tensors lie in the file by the width of their numbers, wide numbers first, then by name, as the format's own library writes files: each
// tensor begins at a multiple of this width. The same tensors always give the same bytes. Memory does not grow with the numbers. The file
// is replaced whole or not at all (base/file.h). Threads: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

class SafetensorsWriter {  // Move-only.
 public:
  struct Tensor {
    std::string name;
    SafetensorsType type;
    std::vector<int64_t> shape;   // Slowest dimension first. Empty: one number.
  };
  using Metadata = std::vector<std::pair<std::string, std::string>>;

  // Starts the file, and reserves disk space for the whole file. Returns InvalidArgument (file, tensor or key, found, expected) for
  // contents that SafetensorsFile would refuse, and for texts that are not printable UTF-8; otherwise the errors of AtomicFileWriter.
  static absl::StatusOr<SafetensorsWriter> Create(const std::string& path, std::vector<Tensor> tensors, const Metadata& metadata = {});

  // Appends the next bytes of tensor number `tensor` in Create's order. Returns InvalidArgument (file, tensor, found, expected) if fewer
  // bytes are left; otherwise the system's error. REQUIRES: there is such a tensor.
  absl::Status Append(int tensor, absl::Span<const std::byte> bytes);
  // Ends the file. Returns InvalidArgument (file, tensor, found, expected) if a tensor lacks bytes; otherwise the errors of
  // AtomicFileWriter. After an error the file is as before. REQUIRES: the last call.
  absl::Status Commit();

 private:
  struct Planned {
    std::string name;
    int64_t bytes = 0;
    int64_t offset = 0;   // Start of the bytes in the file.
    int64_t written = 0;
  };

  SafetensorsWriter(std::string path, AtomicFileWriter file, std::vector<Planned> tensors)
      : path_(std::move(path)), file_(std::move(file)), tensors_(std::move(tensors)) {}

  std::string path_;
  AtomicFileWriter file_;
  std::vector<Planned> tensors_;
};

}  // namespace tessera
