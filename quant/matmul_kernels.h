// The inner loops of a quantized product: one table per instruction set, all with the same bits.
//
//   const MatMulKernels& kernels = MatMulKernelsFor(BestKernelPath());
//   kernels.quantize_row(x, in_features, rows.Row(0));
//   kernels.panels[static_cast<int>(BlockFormat::kQ4_0)](job);
//
// Most callers want quant/matmul.h. The host device calls the kernels directly, to share one rounding of the rows among several matrices. A
// table is plain data, so a test can plant a wrong kernel and check its detection. Thread-safe: jobs on different panels may run at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/base/cpu_features.h"
#include "tessera/quant/activation.h"
#include "tessera/quant/block_format.h"
#include "tessera/quant/peak_loops.h"

namespace tessera {

// Panels [panel_begin, panel_end) of one matrix times all rows: y[r][32 p + o] = sum over k of W[32 p + o][k] * x[r][k].
struct PanelJob {
  const std::byte* panels = nullptr;  // The first panel of the matrix (not of the job).
  int64_t panel_begin = 0;
  int64_t panel_end = 0;
  int64_t in_features = 0;
  int64_t out_features = 0;      // Outputs of the last panel beyond out_features are not stored.
  int64_t rows = 0;
  // Rows of x: groups; fine groups for a fine product; or FP32 for formats with float_activations, which ignore `fine`.
  const std::byte* x = nullptr;
  int64_t x_stride = 0;          // In bytes.
  bool fine = false;             // Rows rounded to 16 bits instead of 8 (quant/activation.h).
  float* y = nullptr;            // Row r at y + r * y_stride.
  int64_t y_stride = 0;          // In floats.
};

struct MatMulKernels {
  using PanelsFunction = void (*)(const PanelJob& job);

  KernelPath path;
  std::array<PanelsFunction, kBlockFormats> panels;  // Indexed by BlockFormat.
  // Rounds one row of FP32 to groups (quant/activation.h). A tail of in_features % 32 values is filled with zeros. out:
  // QuantizedRows::Groups(in_features) groups, readable only by kernels of this table.
  void (*quantize_row)(const float* x, int64_t in_features, ActivationGroup* out);
  void (*quantize_row_fine)(const float* x, int64_t in_features, FineActivationGroup* out);
  PeakLoops peaks;  // Loops for the peak rates of this instruction set.
};

// Returns the kernels of `path`. REQUIRES: this CPU supports `path`.
const MatMulKernels& MatMulKernelsFor(KernelPath path);

}  // namespace tessera
