#include "tessera/quant/matmul.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/panel_schedule.h"

namespace tessera {
namespace {

absl::Status CheckShapes(const PackedMatrix& w, TensorView<const float> x, TensorView<float> y) {
  if (x.columns() == w.in_features() && y.columns() == w.out_features() && x.rows() == y.rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("MatMul: x is [", x.rows(), ", ", x.columns(), "], y is [", y.rows(), ", ",
                                                 y.columns(), "], expected [rows, ", w.in_features(), "] and [rows, ",
                                                 w.out_features(), "]"));
}

// One product, shared by the workers.
struct Product {
  const PackedMatrix& w;
  TensorView<const float> x;
  TensorView<float> y;
  const MatMulKernels& kernels;
  bool fine;

  void Round(const QuantizedRows& rounded, const Share& rows) const {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      fine ? kernels.quantize_row_fine(x.row(r), x.columns(), rounded.FineRow(r))
           : kernels.quantize_row(x.row(r), x.columns(), rounded.Row(r));
    }
  }

  void Multiply(const QuantizedRows& rounded, const Share& panels, const Share& rows) const {
    const bool floats = w.shape().float_activations;
    const int64_t x_stride = floats ? x.row_stride() * static_cast<int64_t>(sizeof(float)) : rounded.stride();
    const std::byte* const first_x = floats ? reinterpret_cast<const std::byte*>(x.data()) : rounded.Rows(fine);
    kernels.panels[static_cast<int>(w.format())]({.panels = w.data(),
                                                  .panel_begin = panels.begin,
                                                  .panel_end = panels.end,
                                                  .in_features = w.in_features(),
                                                  .out_features = w.out_features(),
                                                  .rows = rows.end - rows.begin,
                                                  .x = first_x + rows.begin * x_stride,
                                                  .x_stride = x_stride,
                                                  .fine = fine,
                                                  .y = y.row(rows.begin),
                                                  .y_stride = y.row_stride()});
  }
};

}  // namespace

absl::StatusOr<std::byte*> MatMulScratch::Reserve(int64_t bytes) {
  if (buffer_.size() < bytes) {
    ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kLarge, "scratch of a product"));
  }
  return buffer_.data();
}

absl::Status MatMul(const PackedMatrix& w, TensorView<const float> x, TensorView<float> y, ThreadPool& pool, MatMulScratch& scratch,
                    const MatMulKernels& kernels, bool fine) {
  RETURN_IF_ERROR(CheckShapes(w, x, y));
  if (x.rows() == 0) return absl::OkStatus();  // Then x and y may be null, and nothing may be added to them.
  const int workers = pool.threads();
  const bool rounds = !w.shape().float_activations;
  // With a single row, every worker rounds the row redundantly: waiting for another worker would take longer.
  const bool single = x.rows() == 1;
  const int64_t taken_bytes = workers * static_cast<int64_t>(sizeof(TakenParts));
  const int64_t rounded_bytes = rounds ? QuantizedRows::BytesFor(single ? workers : x.rows(), x.columns()) : 0;
  ASSIGN_OR_RETURN(std::byte* const storage, scratch.Reserve(taken_bytes + rounded_bytes));
  TakenParts* const taken = reinterpret_cast<TakenParts*>(storage);
  std::uninitialized_value_construct_n(taken, workers);

  const Product product = {w, x, y, kernels, fine};
  const PanelSchedule schedule({.matrices = {&w.shape(), 1}, .rows = x.rows(), .workers = workers});
  pool.Run([&](int worker) {
    const int64_t own_row = single ? worker * QuantizedRows::BytesFor(1, x.columns()) : 0;
    const QuantizedRows rounded(storage + taken_bytes + own_row, x.columns());
    if (rounds) product.Round(rounded, single ? Share{0, 1} : ShareOf(x.rows(), worker, workers));
    const bool waits = rounds && !single;
    const uint64_t arrival = waits ? pool.Arrive() : 0;
    const auto multiply = [&](int, const Share& panels, const Share& rows) { product.Multiply(rounded, panels, rows); };
    schedule.Run(taken, worker, multiply, [&] { if (waits) pool.AwaitOthers(arrival); });
  });
  return absl::OkStatus();
}

}  // namespace tessera
