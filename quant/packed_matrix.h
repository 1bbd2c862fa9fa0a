// A weight matrix in the kernels' layout: made once from GGUF blocks, then only read.
//
//   MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kQ4_1, /*out_features=*/1536, /*in_features=*/576};
//   ASSIGN_OR_RETURN(int64_t bytes, PackedMatrix::BytesFor(spec));
//   ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
//   RETURN_IF_ERROR(PackedMatrix::Pack(spec, gguf_bytes, buffer.bytes()));
//   ASSIGN_OR_RETURN(PackedMatrix matrix, PackedMatrix::Open(spec, buffer.bytes()));
//
// A matrix may be packed in parts of whole panels (32 rows): the bytes of rows 64..127 are what packing them alone would give.
// Threads: a PackedMatrix is an immutable view, safe to share; Pack may run at once on different output bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/quant/block_format.h"

namespace tessera {

struct MatrixSpec {
  std::string name = {};       // For messages.
  BlockFormat format = BlockFormat::kF32;
  int64_t out_features = 0;    // Rows.
  int64_t in_features = 0;     // Columns.
};

class PackedMatrix {  // A view: cheap to copy, safe to share between threads.
 public:
  // The layout of these bytes, in files. A change of docs/packed_layout.md gives it another name.
  static constexpr char kLayout[] = "tessera-panels-1";

  // Size of the packed bytes, a multiple of 64. InvalidArgument names spec.name, the field and the value if a dimension is below 1
  // or in_features is not a whole number of blocks; OutOfRange if the size overflows.
  static absl::StatusOr<int64_t> BytesFor(const MatrixSpec& spec);

  // Packs row-major GGUF blocks. InvalidArgument (name, bytes found and expected) if either span has the wrong size.
  static absl::Status Pack(const MatrixSpec& spec, absl::Span<const std::byte> gguf_bytes, absl::Span<std::byte> packed);

  // `bytes` must outlive the view, unchanged. InvalidArgument names spec.name, what is wrong (size, 64-byte alignment), the value
  // found and the value expected.
  static absl::StatusOr<PackedMatrix> Open(const MatrixSpec& spec, absl::Span<const std::byte> bytes);

  BlockFormat format() const { return format_; }
  int64_t out_features() const { return out_features_; }
  int64_t in_features() const { return in_features_; }
  int64_t panels() const { return (out_features_ + 31) / 32; }
  const std::byte* data() const { return data_; }

  // Row `row` as FP32, for embedding tables. out: [in_features]. REQUIRES: 0 <= row < out_features().
  void ReadRow(int64_t row, float* out) const;

 private:
  PackedMatrix(const MatrixSpec& spec, const std::byte* data)
      : format_(spec.format), out_features_(spec.out_features), in_features_(spec.in_features), data_(data) {}

  BlockFormat format_;
  int64_t out_features_;
  int64_t in_features_;
  const std::byte* data_;
};

}  // namespace tessera
