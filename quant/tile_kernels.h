// Products with tile matrices as a phone NPU's matrix unit computes them, one set of loops per instruction set, all with the same bits.
//
//   const TileKernels& kernels = TileKernelsFor(BestKernelPath());
//   kernels.round_row(x, in_features, TileInput::kHalf, rounded);          // once per row, for all matrices that share x
//   kernels.multiply(matrix.scheme(), job);
//
// The stated model (docs/tiles.md): activations and weights are FP16; an output is one chain of FP32 multiply-adds over the inputs in
// ascending order, times the scale of its channel or matrix if it has one, plus the bias of its output if there is one, rounded once to
// FP16. A phone's accumulator may be wider, which is not known. Results are FP32 numbers that FP16 holds. Thread-safe: jobs on different
// panels may run at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpu_features.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// Panels [panel_begin, panel_end) of one matrix times all rows.
struct TileJob {
  const std::byte* panels = nullptr;   // The first panel of the matrix (not of the job).
  int64_t panel_begin = 0;
  int64_t panel_end = 0;
  int64_t in_features = 0;
  int64_t out_features = 0;            // Outputs of the last panel beyond this are not stored.
  int64_t rows = 0;
  const float* x = nullptr;            // As round_row gives them: whole tiles of inputs. Row r at x + r * x_stride.
  int64_t x_stride = 0;                // In floats.
  const float* bias = nullptr;         // [out_features], or null.
  float* y = nullptr;                  // Row r at y + r * y_stride.
  int64_t y_stride = 0;                // In floats.
};

struct TileKernels {
  KernelPath path;
  void (*multiply)(TileScheme scheme, const TileJob& job);
  // A row as FP32 numbers that FP16 holds, and zeros up to a whole tile. kInt8 and kInt16: first rounded to whole multiples of the row's
  // largest magnitude / 127 or 32767: with c one of these and m that magnitude, FP16(round(x * (c / m)) * (m / c)), round to nearest even,
  // all else in FP32; zeros if m is below 2^-100. What FP16 cannot hold is an infinity; a row with a NaN or an infinity is NaN with these
  // two. out: AlignUp(in_features, 32) floats; may be x, if x has room for them.
  void (*round_row)(const float* x, int64_t in_features, TileInput input, float* out);
};

// REQUIRES: this CPU supports `path`.
const TileKernels& TileKernelsFor(KernelPath path);

}  // namespace tessera
