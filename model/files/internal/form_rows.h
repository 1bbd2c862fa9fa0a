// Converts rows of a matrix from the file's form into the layout's form: panels, FP32, or tiles.
//
//   const FormedRows rows = {.place = "m.gguf: tensor blk.0.ffn_up.weight", .weight = part.weight, .format = BlockFormat::kQ4_1,
//                            .encoding = layout.encoding()};
//   if (TakesBlocks(rows)) RETURN_IF_ERROR(WriteBlocks(rows, blocks, out));             // as the file has them
//   else RETURN_IF_ERROR(WriteNumbers(rows, numbers, {.largest = 0.5f}, out));          // dequantized
//
// Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/quant/graph_weight.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

struct FormedRows {
  std::string place = {};                      // For messages: file and tensor.
  GraphWeight weight = {};                     // A matrix; spec.out_features: these rows, whole panels unless the rows are the last.
  BlockFormat format = BlockFormat::kF32;      // The file's.
  WeightEncoding encoding = WeightEncoding::kPacked;
  int64_t first_row = 0;                       // The first of the rows in the tensor, for messages.
};

// Returns true if the form holds exactly the numbers of the file's blocks. Otherwise the form is made from numbers.
bool TakesBlocks(const FormedRows& rows);

// Writes rows from blocks. out: WeightBytes(rows.weight, rows.encoding). blocks: row-major, in rows.format. REQUIRES: TakesBlocks(rows).
absl::Status WriteBlocks(const FormedRows& rows, absl::Span<const std::byte> blocks, absl::Span<std::byte> out);

// Writes rows from numbers. numbers: [out_features, in_features], one row after the other. Returns InvalidArgument (place, found, expected)
// for a number that the form cannot hold. A format other than the file's is quantized by the rules of block formats (BlockFormatInfo), in
// FP32, too. choice.importance: for tiles, and for formats with a search.
absl::Status WriteNumbers(const FormedRows& rows, TensorView<const float> numbers, const TileMatrix::Choice& choice,
                          absl::Span<std::byte> out);

}  // namespace tessera
