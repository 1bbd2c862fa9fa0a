// The kernel for float weights: per output one FMA chain over the inputs in ascending order, with rows in FP32.
#pragma once

#include "tessera/quant/kernels/panel_sums.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {

template <typename L, typename Format, int kRows>
void FloatPanelRows(const std::byte* panel, int64_t in_features, const std::byte* x, int64_t x_stride, float* y, int64_t y_stride,
                    int64_t outputs) {
  PanelSums<L, kRows> sums;
  for (auto& row : sums.lanes) {
    for (auto& lanes : row) lanes = L::Zero();
  }
  constexpr int64_t kStep = 32 * Format::kBytes;
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* weights = panel + k * kStep;
    __builtin_prefetch(weights + 2 * kPrefetchAhead, 0, 3);
    const typename L::Float w0 = Format::template Load<L>(weights);
    const typename L::Float w1 = Format::template Load<L>(weights + kStep / 2);
    for (int r = 0; r < kRows; ++r) {
      const typename L::Float value = L::Set(reinterpret_cast<const float*>(x + r * x_stride)[k]);
      sums.lanes[r][0] = L::Fma(w0, value, sums.lanes[r][0]);
      sums.lanes[r][1] = L::Fma(w1, value, sums.lanes[r][1]);
    }
  }
  StoreSums<L, kRows>(sums, y, y_stride, outputs);
}

template <typename L, typename Format>
void FloatPanels(const PanelJob& job) {
  const int64_t panel_bytes = job.in_features * 32 * Format::kBytes;
  for (int64_t p = job.panel_begin; p < job.panel_end; ++p) {
    const std::byte* panel = job.panels + p * panel_bytes;
    const int64_t outputs = job.out_features - 32 * p;
    for (int64_t row = 0; row < job.rows;) {
      const std::byte* x = job.x + row * job.x_stride;
      float* y = job.y + row * job.y_stride + 32 * p;
      const int64_t left = job.rows - row;
      if (left >= 6) {
        FloatPanelRows<L, Format, 6>(panel, job.in_features, x, job.x_stride, y, job.y_stride, outputs);
        row += 6;
      } else if (left >= 2) {
        FloatPanelRows<L, Format, 2>(panel, job.in_features, x, job.x_stride, y, job.y_stride, outputs);
        row += 2;
      } else {
        FloatPanelRows<L, Format, 1>(panel, job.in_features, x, job.x_stride, y, job.y_stride, outputs);
        row += 1;
      }
    }
  }
}

}  // namespace tessera
