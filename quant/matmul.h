// Multiplies a batch of float rows by a packed, quantized matrix: y[r] = W * x[r].
//
//   ASSIGN_OR_RETURN(PackedMatrix w, PackedMatrix::Open(spec, lease.bytes()));
//   MatMulScratch scratch;
//   RETURN_IF_ERROR(MatMul(w, x, y, pool, scratch));          // x: [rows, in], y: [rows, out], FP32
//
// Promise: the bits of y[r] depend on W and x[r] alone, never on other rows, their number, the threads or the instruction set. For block
// formats, rows are rounded to 8 bits in groups of 32. `fine` rows are rounded to 16 bits, for about twice the arithmetic and the same
// bytes of W (quant/activation.h). For F32, F16 and BF16, rows stay in FP32.
//
// Threads: calls may run at once if y, scratch and pool differ.
#pragma once

#include "absl/status/status.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

// Memory for the rounded rows, kept between calls and grown if necessary.
class MatMulScratch {
 public:
  // Returns at least `bytes` bytes; earlier contents are lost. ResourceExhausted if the system has no memory.
  absl::StatusOr<std::byte*> Reserve(int64_t bytes);

 private:
  AlignedBuffer buffer_;
};

// Multiplies. InvalidArgument if shapes disagree (matrix, found, expected). Without rows, does nothing. REQUIRES: y overlaps neither x nor
// W. Cost: reads W once, for any number of rows.
absl::Status MatMul(const PackedMatrix& w, TensorView<const float> x, TensorView<float> y, ThreadPool& pool, MatMulScratch& scratch,
                    const MatMulKernels& kernels = MatMulKernelsFor(BestKernelPath()), bool fine = false);

}  // namespace tessera
