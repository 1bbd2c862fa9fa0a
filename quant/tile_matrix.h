// A weight matrix quantized for a phone NPU's matrix unit and laid out in its tiles.
//
//   const MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kF32, /*out_features=*/1536, /*in_features=*/576};
//   const TileScheme scheme = {TileCode::kInt4, TileScales::kTileGroup};
//   ASSIGN_OR_RETURN(int64_t bytes, TileMatrix::BytesFor(spec, scheme));
//   ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
//   RETURN_IF_ERROR(TileMatrix::Quantize(spec, scheme, weights, {}, buffer.bytes()));           // weights: [1536, 576], FP32
//   ASSIGN_OR_RETURN(TileMatrix matrix, TileMatrix::Open(spec, scheme, buffer.bytes()));
//   TileKernelsFor(path).multiply(scheme, job);                                                 // quant/tile_kernels.h
//
// Tiles are 32 inputs x 32 outputs, and tiles of the same outputs are consecutive (tensor/tile_layout.h, TileOrder::kColumns). A column of
// tiles is a panel, as in PackedMatrix, and a matrix may be quantized in parts of whole panels. A panel with scales per output or per
// matrix begins with 32 FP16 scales. docs/tiles.md describes every byte. Padding is quantized zeros; products multiply the padding by
// zeros. Only Repack reads spec.format.
//
// Threads: a TileMatrix is an immutable view, safe to share; Quantize may run at once on different output bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_scheme.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class TileMatrix {  // A view: cheap to copy, safe to share between threads.
 public:
  // Name of the byte layout, for files. A change of docs/tiles.md changes the name.
  static constexpr char kLayout[] = "tessera-tiles-1";
  // Most inputs of a row that the on-chip memory of the matrix unit holds (notes in docs/tiles.md).
  static constexpr int64_t kMostInputs = 16384;

  // Returns the size of the bytes, a multiple of 64. InvalidArgument names spec.name, the field and the value if a dimension is below 1 or
  // in_features above kMostInputs; OutOfRange if the size overflows.
  static absl::StatusOr<int64_t> BytesFor(const MatrixSpec& spec, TileScheme scheme);
  // Returns the layout for PanelSchedule. REQUIRES: BytesFor is OK.
  static PanelShape ShapeOf(const MatrixSpec& spec, TileScheme scheme);

  struct Choice {
    int64_t first_output = 0;                    // Number of the first row in error messages, if the rows are a part of a matrix.
    // TileScales::kTensor alone: the largest magnitude of the whole matrix, of which the rows may be a part. The scale is `largest` divided
    // by the largest magnitude of the code, and never negative. So a code without a partner of the other sign holds one of the signs a
    // little worse.
    float largest = 0;
    // Per input, the weight of its squared error. Empty: scales are not searched, but nearest. kTensor and kHalf have no scale to search.
    absl::Span<const float> importance = {};
  };
  // Quantizes by rounding to nearest. A scale comes from the number of the largest magnitude under that scale. Each number takes the
  // nearest code, of two equally near codes the lower one (codes of 8 bits: the even one). With importance, the scale with the least
  // weighted squared error wins, among 17 scales near the scale of rounding to nearest. weights: [out_features, in_features], as in files.
  // InvalidArgument (name, output, input, found) for a number that is not finite, is beyond FP16, has a scale beyond FP16, or is above
  // choice.largest. InvalidArgument (name, found and expected) if a span has the wrong size, or if importance or choice.largest is negative
  // or not finite.
  static absl::Status Quantize(const MatrixSpec& spec, TileScheme scheme, TensorView<const float> weights, const Choice& choice,
                               absl::Span<std::byte> out);

  // Returns whether Repack holds every code and scale of these blocks: true for Q4_0, IQ4_NL and Q8_0 as common groups of the same code.
  static bool IsExact(BlockFormat format, TileScheme scheme);
  // Moves codes and scales into tiles unchanged; a weight is the product of code and scale rounded to FP16, as always. A code of -128,
  // which files may hold, stays -128. gguf_bytes: row-major blocks of spec.format. InvalidArgument (name, found and expected) if a span has
  // the wrong size, or if in_features is not a whole number of blocks. REQUIRES: IsExact(spec.format, scheme).
  static absl::Status Repack(const MatrixSpec& spec, TileScheme scheme, absl::Span<const std::byte> gguf_bytes, absl::Span<std::byte> out);

  // Opens quantized bytes. `bytes` must outlive the view, unchanged. InvalidArgument names spec.name, the fault (size, 64-byte alignment),
  // the value found and the value expected. Cheap: the bytes are not read.
  static absl::StatusOr<TileMatrix> Open(const MatrixSpec& spec, TileScheme scheme, absl::Span<const std::byte> bytes);

  TileScheme scheme() const { return scheme_; }
  const PanelShape& shape() const { return shape_; }
  const std::byte* data() const { return data_; }

  // Reads row `row` as FP32, with the numbers that products use: FP16(number * scale) of groups, number * scale of channels and matrices.
  // out: [in_features]. REQUIRES: 0 <= row < out_features.
  void ReadRow(int64_t row, float* out) const;

 private:
  TileMatrix(const PanelShape& shape, TileScheme scheme, const std::byte* data) : shape_(shape), scheme_(scheme), data_(data) {}

  PanelShape shape_;
  TileScheme scheme_;
  const std::byte* data_;
};

}  // namespace tessera
