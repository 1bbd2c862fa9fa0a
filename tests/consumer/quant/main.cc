// Packs a matrix of small whole numbers, which Q8_0 holds exactly, and multiplies it by a row on this CPU's best kernels. Then writes the
// same matrix to a file as tiles of a phone NPU, in groups of 2 inputs x 16 outputs, and multiplies what it reads back.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/matmul.h"
#include "tessera/quant/tile_kernels.h"
#include "tessera/quant/tile_matrix.h"

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

constexpr TileScheme kScheme = {TileCode::kInt4, TileScales::kTileGroup};
const MatrixSpec kTiled = {"w", BlockFormat::kF32, /*out_features=*/3, /*in_features=*/32};

absl::Status WriteTiles(const char* path) {
  std::vector<float> w(96);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i / 32);
  ASSIGN_OR_RETURN(const int64_t bytes, TileMatrix::BytesFor(kTiled, kScheme));
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  RETURN_IF_ERROR(TileMatrix::Quantize(kTiled, kScheme, {w.data(), 3, 32}, {}, buffer.bytes()));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(bytes));
  return file.flush() ? absl::OkStatus() : absl::UnknownError("the file cannot be written");
}

absl::StatusOr<std::vector<float>> MultiplyTiles(const char* path) {
  ASSIGN_OR_RETURN(const int64_t bytes, TileMatrix::BytesFor(kTiled, kScheme));
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(bytes));
  ASSIGN_OR_RETURN(const TileMatrix matrix, TileMatrix::Open(kTiled, kScheme, buffer.bytes()));
  const TileKernels& kernels = TileKernelsFor(BestKernelPath());
  std::vector<float> x(32, 1), y(3);
  kernels.round_row(x.data(), 32, TileInput::kHalf, x.data());
  kernels.multiply(kScheme, {.panels = matrix.data(), .panel_end = 1, .in_features = 32, .out_features = 3, .rows = 1, .x = x.data(),
                             .x_stride = 32, .y = y.data(), .y_stride = 3});
  return y;
}

bool IsProduct(const absl::StatusOr<std::vector<float>>& y, const char* what, double off) {
  if (!y.ok()) {
    std::cout << "quant: " << what << ": " << y.status() << "\n";
    return false;
  }
  std::cout << "quant: " << what << ": W x = " << (*y)[0] << " " << (*y)[1] << " " << (*y)[2] << "\n";
  return (*y)[0] == 0 && std::abs((*y)[1] - 32) < off && std::abs((*y)[2] - 64) < off;
}

}  // namespace

int main() {
  const char* const path = "consumer_tiles.bin";
  const bool panels = IsProduct(Multiply(), "panels", 0.1);
  const absl::Status written = WriteTiles(path);
  if (!written.ok()) std::cout << "quant: " << written << "\n";
  const bool tiles = written.ok() && IsProduct(MultiplyTiles(path), "tiles", 4);   // 1 is 4 steps of 2 / 8.
  std::remove(path);
  return panels && tiles ? 0 : 1;
}
