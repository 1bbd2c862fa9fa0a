// Packs a matrix of small whole numbers, which Q8_0 holds exactly, and multiplies it by a row on this CPU's best kernels.
#include <cmath>
#include <iostream>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/quant/matmul.h"

namespace {

using namespace tessera;

// Row r of W is 32 times r; x is all ones: y[r] = 32 r, up to the rounding of scales to FP16.
absl::StatusOr<std::vector<float>> Multiply() {
  const MatrixSpec spec = {"w", BlockFormat::kQ8_0, /*out_features=*/3, /*in_features=*/32};
  std::vector<float> w(96), x(32, 1), y(3);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i / 32);
  std::vector<std::byte> blocks(size_t{3} * static_cast<size_t>(InfoOf(spec.format).bytes_per_block));
  InfoOf(spec.format).quantize(w.data(), 96, blocks.data());
  ASSIGN_OR_RETURN(const int64_t bytes, PackedMatrix::BytesFor(spec));
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  RETURN_IF_ERROR(PackedMatrix::Pack(spec, blocks, buffer.bytes()));
  ASSIGN_OR_RETURN(const PackedMatrix packed, PackedMatrix::Open(spec, buffer.bytes()));
  ThreadPool pool(2);
  MatMulScratch scratch;
  RETURN_IF_ERROR(MatMul(packed, {x.data(), 1, 32}, {y.data(), 1, 3}, pool, scratch));
  return y;
}

}  // namespace

int main() {
  const absl::StatusOr<std::vector<float>> y = Multiply();
  if (!y.ok()) {
    std::cout << "quant: " << y.status() << "\n";
    return 1;
  }
  std::cout << "quant: W x = " << (*y)[0] << " " << (*y)[1] << " " << (*y)[2] << "\n";
  return (*y)[0] == 0 && std::abs((*y)[1] - 32) < 0.1 && std::abs((*y)[2] - 64) < 0.1 ? 0 : 1;
}
