// Products with tile matrices in the arithmetic of a phone NPU's matrix unit: one table of loops per instruction set, all with the same
// bits.
//
//   const TileKernels& kernels = TileKernelsFor(BestKernelPath());
//   kernels.round_row(x, in_features, TileInput::kHalf, rounded);          // once per row, for all matrices that share x
//   kernels.multiply(matrix.scheme(), job);
//
// The stated model (docs/tiles.md): activations and weights are FP16. An output is one chain of FP32 multiply-adds over the inputs in
// ascending order. The chain's result is multiplied by the scale of the channel or matrix, if there is one; then the output's bias is
// added, if there is one. The output is rounded once to FP16. A phone's accumulator may be wider; the width is not known. Results are FP32
// numbers that FP16 holds.
//
// Threads: thread-safe; jobs on different panels may run at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpu_features.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// Multiplies panels [panel_begin, panel_end) of one matrix by all rows.
struct TileJob {
  const std::byte* panels = nullptr;   // The first panel of the matrix (not of the job).
  int64_t panel_begin = 0;
  int64_t panel_end = 0;
  int64_t in_features = 0;
  int64_t out_features = 0;            // Outputs of the last panel beyond out_features are not stored.
  int64_t rows = 0;
  const float* x = nullptr;            // Output of round_row: whole tiles of inputs. Row r at x + r * x_stride.
  int64_t x_stride = 0;                // In floats.
  const float* bias = nullptr;         // [out_features], or null.
  float* y = nullptr;                  // Row r at y + r * y_stride.
  int64_t y_stride = 0;                // In floats.
};

struct TileKernels {
  KernelPath path;
  void (*multiply)(TileScheme scheme, const TileJob& job);
  // Rounds a row to FP32 numbers that FP16 holds, with zeros up to a whole tile. kInt8 and kInt16 first round to whole multiples of m / c,
  // where m is the row's largest magnitude and c is 127 or 32767. The result is FP16(round(x * (c / m)) * (m / c)), with round to nearest
  // even and all else in FP32. If m is below 2^-100, the result is zeros. Numbers beyond FP16 become infinities. With kInt8 and kInt16, a
  // row with a NaN or an infinity becomes NaN. out: AlignUp(in_features, 32) floats; may be x, if x has room for them.
  void (*round_row)(const float* x, int64_t in_features, TileInput input, float* out);
};

// Returns the kernels of `path`. REQUIRES: this CPU supports `path`.
const TileKernels& TileKernelsFor(KernelPath path);

}  // namespace tessera
