// A weight matrix in the kernels' layout: created once from GGUF blocks, then only read.
//
//   MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kQ4_1, /*out_features=*/1536, /*in_features=*/576};
//   ASSIGN_OR_RETURN(int64_t bytes, PackedMatrix::BytesFor(spec));
//   ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
//   RETURN_IF_ERROR(PackedMatrix::Pack(spec, gguf_bytes, buffer.bytes()));
//   ASSIGN_OR_RETURN(PackedMatrix matrix, PackedMatrix::Open(spec, buffer.bytes()));
//
// A matrix may be packed in parts of whole panels (32 rows). For example, packing rows 64..127 alone gives the same bytes for these rows.
//
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

// The part of the layout that dividing a product needs (quant/panel_schedule.h): consecutive panels of equal size, each with all inputs of
// 32 outputs. docs/packed_layout.md describes the contents of a panel.
struct PanelShape {
  static constexpr int kOutputs = 32;  // Outputs (rows of the matrix) per panel; the last panel may hold fewer.

  // Returns the shape of a packed matrix. REQUIRES: PackedMatrix::BytesFor(spec) is OK.
  static PanelShape Of(const MatrixSpec& spec);

  BlockFormat format = BlockFormat::kF32;
  bool float_activations = true;  // F32, F16, BF16: rows of activations stay in FP32, not rounded (quant/activation.h).
  int64_t out_features = 0;
  int64_t in_features = 0;
  int64_t panels = 0;
  int64_t panel_bytes = 0;        // A multiple of 64.
};

class PackedMatrix {  // A view: cheap to copy, safe to share between threads.
 public:
  // Name of the byte layout, for files. A change of docs/packed_layout.md changes the name.
  static constexpr char kLayout[] = "tessera-panels-1";

  // Returns the size of the packed bytes, a multiple of 64. InvalidArgument names spec.name, the field and the value if a dimension is
  // below 1 or in_features is not a whole number of blocks. OutOfRange if the size overflows.
  static absl::StatusOr<int64_t> BytesFor(const MatrixSpec& spec);

  // Packs row-major GGUF blocks. InvalidArgument (name, bytes found and expected) if either span has the wrong size.
  static absl::Status Pack(const MatrixSpec& spec, absl::Span<const std::byte> gguf_bytes, absl::Span<std::byte> packed);

  // Opens packed bytes. `bytes` must outlive the view, unchanged. InvalidArgument names spec.name, the fault (size, 64-byte alignment), the
  // value found and the value expected.
  static absl::StatusOr<PackedMatrix> Open(const MatrixSpec& spec, absl::Span<const std::byte> bytes);

  BlockFormat format() const { return shape_.format; }
  int64_t out_features() const { return shape_.out_features; }
  int64_t in_features() const { return shape_.in_features; }
  int64_t panels() const { return shape_.panels; }
  const PanelShape& shape() const { return shape_; }
  const std::byte* data() const { return data_; }

  // Reads row `row` as FP32, for embedding tables. out: [in_features]. REQUIRES: 0 <= row < out_features().
  void ReadRow(int64_t row, float* out) const;

 private:
  PackedMatrix(const PanelShape& shape, const std::byte* data) : shape_(shape), data_(data) {}

  PanelShape shape_;
  const std::byte* data_;
};

}  // namespace tessera
