#include "tessera/quant/matmul.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera {
namespace {

absl::Status CheckShapes(const PackedMatrix& w, TensorView<const float> x, TensorView<float> y) {
  if (x.columns() == w.in_features() && y.columns() == w.out_features() && x.rows() == y.rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("MatMul: x is [", x.rows(), ", ", x.columns(), "], y is [", y.rows(), ", ",
                                                 y.columns(), "], expected [rows, ", w.in_features(), "] and [rows, ",
                                                 w.out_features(), "]"));
}

}  // namespace

absl::StatusOr<std::byte*> MatMulScratch::Reserve(int64_t bytes) {
  if (buffer_.size() < bytes) {
    ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(bytes));
  }
  return buffer_.data();
}

absl::Status MatMul(const PackedMatrix& w, TensorView<const float> x, TensorView<float> y, ThreadPool& pool, MatMulScratch& scratch,
                    const MatMulKernels& kernels, bool fine) {
  RETURN_IF_ERROR(CheckShapes(w, x, y));
  if (x.rows() == 0) return absl::OkStatus();  // Then x and y may be null, and nothing may be added to them.
  const bool rounds = !PanelFormatOf(w.format()).float_activations;
  std::byte* storage = nullptr;
  if (rounds) {
    ASSIGN_OR_RETURN(storage, scratch.Reserve(QuantizedRows::BytesFor(x.rows(), x.columns())));
  }
  const QuantizedRows rounded(storage, x.columns());
  pool.Run([&](int worker) {
    if (rounds) {
      const Share rows = ShareOf(x.rows(), worker, pool.threads());
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        fine ? kernels.quantize_row_fine(x.row(r), x.columns(), rounded.FineRow(r))
             : kernels.quantize_row(x.row(r), x.columns(), rounded.Row(r));
      }
      pool.Barrier();
    }
    const Share panels = ShareOf(w.panels(), worker, pool.threads());
    PanelJob job = {.panels = w.data(), .panel_begin = panels.begin, .panel_end = panels.end, .in_features = w.in_features(),
                    .out_features = w.out_features(), .rows = x.rows(), .fine = fine, .y = y.data(), .y_stride = y.row_stride()};
    job.x = rounds ? rounded.Rows(fine) : reinterpret_cast<const std::byte*>(x.data());
    job.x_stride = rounds ? rounded.stride() : x.row_stride() * static_cast<int64_t>(sizeof(float));
    kernels.panels[static_cast<int>(w.format())](job);
  });
  return absl::OkStatus();
}

}  // namespace tessera
