// The layout of a weight matrix for the kernels: panels of 32 outputs, each one sequential stream of bytes.
//
//   const PanelFormat& format = PanelFormatOf(BlockFormat::kQ4_0);
//   format.pack(gguf_rows, row_bytes, rows, in_features, panel);     // up to 32 rows into one panel
//   format.read_row(panel, lane, in_features, out);                  // one of them back, as FP32
//
// One layout serves every row count and instruction set. Panel p holds outputs 32p..32p+31 as two tiles of 16 lanes. A panel is a chain of
// self-contained blocks along the inputs: quants first, then their scales. In a block of 32 inputs, quad j is inputs 4j..4j+3. The byte of
// tile t, lane l, quad j, element i is at t * tile_bytes + 64 j + 4 l + i. So one 64-byte load feeds sixteen dot products of four. 4-bit
// formats keep quad j in the low and quad j + 4 in the high nibble. Missing rows of the last panel are zero. docs/packed_layout.md has the
// sizes and the rejected layouts. Thread-safe (constant data, pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/block_format.h"

namespace tessera {

struct PanelFormat {
  static constexpr int kOutputs = 32;
  static constexpr int kTileOutputs = 16;

  int inputs_per_block;   // Equal to the file's: 32 to 256; 1 for plain floats.
  int bytes_per_block;    // Bytes of all 32 outputs together: a multiple of 64.
  bool float_activations; // True for F32, F16, BF16: rows stay in FP32, not rounded to 8 bits.

  // Packs `rows` <= 32 rows of in_features values, row_bytes apart in the GGUF block format, into one panel.
  void (*pack)(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel);
  // Widens row `lane` of a panel to FP32: the values that dequantize() gives for the GGUF row.
  void (*read_row)(const std::byte* panel, int lane, int64_t in_features, float* out);
};

const PanelFormat& PanelFormatOf(BlockFormat format);

// Returns the bytes of one panel. REQUIRES: in_features is a whole number of blocks and the product fits (BytesOfRows has been checked).
int64_t PanelBytes(BlockFormat format, int64_t in_features);

}  // namespace tessera
