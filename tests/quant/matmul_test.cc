#include "tessera/quant/matmul.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

struct Packed {
  MatrixSpec spec;
  std::vector<float> values;   // Row-major, dequantized.
  AlignedBuffer bytes;
  PackedMatrix Matrix() const { return PackedMatrix::Open(spec, bytes.bytes()).value(); }
};

Packed RandomMatrix(BlockFormat format, int64_t out_features, int64_t in_features, uint64_t seed) {
  Packed packed;
  packed.spec = {"w", format, out_features, in_features};
  const std::vector<std::byte> gguf = RandomBlocks(format, out_features * in_features, seed);
  packed.values.resize(out_features * in_features);
  InfoOf(format).dequantize(gguf.data(), out_features * in_features, packed.values.data());
  packed.bytes = AlignedBuffer::Allocate(PackedMatrix::BytesFor(packed.spec).value()).value();
  EXPECT_TRUE(PackedMatrix::Pack(packed.spec, gguf, packed.bytes.bytes()).ok());
  return packed;
}

std::vector<float> RandomRows(int64_t rows, int64_t columns, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> x(rows * columns);
  for (float& value : x) value = static_cast<float>(random.Uniform() * 2 - 1);
  return x;
}

std::vector<float> Multiply(const Packed& w, const std::vector<float>& x, int threads, const MatMulKernels& kernels) {
  const int64_t rows = static_cast<int64_t>(x.size()) / w.spec.in_features;
  std::vector<float> y(rows * w.spec.out_features, -1);
  ThreadPool pool(threads);
  MatMulScratch scratch;
  EXPECT_TRUE(MatMul(w.Matrix(), {x.data(), rows, w.spec.in_features}, {y.data(), rows, w.spec.out_features}, pool, scratch, kernels).ok());
  return y;
}

bool SameBits(const float* a, const float* b, int64_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

TEST(MatMul, HeaderExample) {
  const MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kQ4_1, 64, 64};
  const std::vector<std::byte> gguf = RandomBlocks(spec.format, 64 * 64, 1);
  AlignedBuffer buffer = AlignedBuffer::Allocate(PackedMatrix::BytesFor(spec).value()).value();
  ASSERT_TRUE(PackedMatrix::Pack(spec, gguf, buffer.bytes()).ok());
  const PackedMatrix w = PackedMatrix::Open(spec, buffer.bytes()).value();
  const std::vector<float> x = RandomRows(2, 64, 2);
  std::vector<float> y(2 * 64);
  ThreadPool pool(1);
  MatMulScratch scratch;
  EXPECT_TRUE(MatMul(w, {x.data(), 2, 64}, {y.data(), 2, 64}, pool, scratch).ok());
}

// The rounding of x to 8 bits is the one difference to exact arithmetic: at most half a step of its group, amax / 254, per value.
// A float sum of n terms adds at most n ulps of the sum of magnitudes.
TEST(MatMul, EqualsExactProductWithinRoundingOfActivations) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, 70, 512, 3);
    const std::vector<float> x = RandomRows(3, 512, 4);
    for (KernelPath path : SupportedKernelPaths()) {
      const std::vector<float> y = Multiply(w, x, 1, MatMulKernelsFor(path));
      for (int r = 0; r < 3; ++r) {
        for (int o = 0; o < 70; ++o) {
          double exact = 0, magnitude = 0, rounding = 0;
          for (int k = 0; k < 512; ++k) {
            const double weight = w.values[o * 512 + k];
            exact += weight * x[r * 512 + k];
            magnitude += std::fabs(weight * x[r * 512 + k]);
            rounding += std::fabs(weight) / 254;
          }
          if (info.format <= BlockFormat::kBF16) rounding = 0;
          ASSERT_NEAR(y[r * 70 + o], exact, rounding + magnitude * 512 * 6e-8)
              << info.name << " " << KernelPathName(path) << " row " << r << " output " << o;
        }
      }
    }
  }
}

TEST(MatMul, RowBitsDoNotDependOnBatch) {
  constexpr int kRows = 23;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, 96, 768, 5);
    const std::vector<float> x = RandomRows(kRows, 768, 6);
    for (KernelPath path : SupportedKernelPaths()) {
      std::vector<float> alone;
      for (int r = 0; r < kRows; ++r) {
        const std::vector<float> y = Multiply(w, {x.begin() + r * 768, x.begin() + (r + 1) * 768}, 1, MatMulKernelsFor(path));
        alone.insert(alone.end(), y.begin(), y.end());
      }
      for (int rows : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 23}) {
        const std::vector<float> y = Multiply(w, {x.begin(), x.begin() + rows * 768}, 1 + rows % 3, MatMulKernelsFor(path));
        for (int r = 0; r < rows; ++r) {
          ASSERT_TRUE(SameBits(&y[r * 96], &alone[r * 96], 96))
              << info.name << " " << KernelPathName(path) << " row " << r << " of " << rows;
        }
      }
    }
  }
}

TEST(MatMul, AllInstructionSetsGiveTheSameBits) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, 45, 1024, 7);
    const std::vector<float> x = RandomRows(7, 1024, 8);
    const std::vector<float> expected = Multiply(w, x, 1, MatMulKernelsFor(KernelPath::kPortable));
    for (KernelPath path : SupportedKernelPaths()) {
      const std::vector<float> y = Multiply(w, x, 1, MatMulKernelsFor(path));
      EXPECT_TRUE(SameBits(y.data(), expected.data(), y.size())) << info.name << " " << KernelPathName(path);
    }
  }
}

TEST(MatMul, ExtremeWeightsAndActivationsDoNotSaturate) {
  const MatrixSpec spec = {"w", BlockFormat::kQ8_0, 32, 64};
  std::vector<std::byte> gguf = RandomBlocks(spec.format, 32 * 64, 9);
  for (size_t block = 0; block < gguf.size(); block += 34) {
    for (int i = 2; i < 34; ++i) gguf[block + i] = std::byte{0x80};  // -128, which no quantizer writes.
  }
  std::vector<float> weights(32 * 64);
  InfoOf(spec.format).dequantize(gguf.data(), 32 * 64, weights.data());
  AlignedBuffer buffer = AlignedBuffer::Allocate(PackedMatrix::BytesFor(spec).value()).value();
  ASSERT_TRUE(PackedMatrix::Pack(spec, gguf, buffer.bytes()).ok());
  for (float sign : {1.0f, -1.0f}) {
    const std::vector<float> x(64, sign);
    for (KernelPath path : SupportedKernelPaths()) {
      std::vector<float> y(32);
      ThreadPool pool(1);
      MatMulScratch scratch;
      ASSERT_TRUE(MatMul(PackedMatrix::Open(spec, buffer.bytes()).value(), {x.data(), 1, 64}, {y.data(), 1, 32}, pool, scratch,
                         MatMulKernelsFor(path)).ok());
      for (int o = 0; o < 32; ++o) {
        double exact = 0;
        for (int k = 0; k < 64; ++k) exact += sign * weights[o * 64 + k];
        EXPECT_NEAR(y[o], exact, std::fabs(exact) * 1e-5) << KernelPathName(path);
      }
    }
  }
}

TEST(MatMul, NotANumberSpoilsItsOwnRowOnly) {
  const Packed w = RandomMatrix(BlockFormat::kQ4_0, 64, 256, 10);
  std::vector<float> x = RandomRows(5, 256, 11);
  for (KernelPath path : SupportedKernelPaths()) {
    const std::vector<float> clean = Multiply(w, x, 1, MatMulKernelsFor(path));
    std::vector<float> spoiled_rows = x;
    spoiled_rows[2 * 256 + 200] = std::numeric_limits<float>::quiet_NaN();
    spoiled_rows[3 * 256] = std::numeric_limits<float>::infinity();
    const std::vector<float> y = Multiply(w, spoiled_rows, 2, MatMulKernelsFor(path));
    for (int r : {0, 1, 4}) EXPECT_TRUE(SameBits(&y[r * 64], &clean[r * 64], 64));
    for (int o = 0; o < 64; ++o) EXPECT_TRUE(std::isnan(y[2 * 64 + o]) && std::isnan(y[3 * 64 + o]));
  }
}

// What two terms leave over is half a step of the second: its group's magnitude is at most half a step of the first, 1 / 254.
TEST(MatMul, TwoTermsRoundActivationsToFifteenBits) {
  for (BlockFormat format : {BlockFormat::kQ4_1, BlockFormat::kQ8_0, BlockFormat::kQ6_K}) {
    const Packed w = RandomMatrix(format, 64, 512, 13);
    const std::vector<float> x = RandomRows(7, 512, 14);
    for (KernelPath path : SupportedKernelPaths()) {
      std::vector<float> y(7 * 64), alone(64);
      ThreadPool pool(1);
      MatMulScratch scratch;
      ASSERT_TRUE(MatMul(w.Matrix(), {x.data(), 7, 512}, {y.data(), 7, 64}, pool, scratch, MatMulKernelsFor(path), 2).ok());
      for (int r = 0; r < 7; ++r) {
        ASSERT_TRUE(MatMul(w.Matrix(), {&x[r * 512], 1, 512}, {alone.data(), 1, 64}, pool, scratch, MatMulKernelsFor(path), 2).ok());
        EXPECT_TRUE(SameBits(alone.data(), &y[r * 64], 64)) << InfoOf(format).name << " " << KernelPathName(path);
        for (int o = 0; o < 64; ++o) {
          double exact = 0, magnitude = 0, rounding = 0;
          for (int k = 0; k < 512; ++k) {
            const double weight = w.values[o * 512 + k];
            exact += weight * x[r * 512 + k];
            magnitude += std::fabs(weight * x[r * 512 + k]);
            rounding += std::fabs(weight) / (254.0 * 254.0);
          }
          ASSERT_NEAR(y[r * 64 + o], exact, rounding + magnitude * 512 * 6e-8) << InfoOf(format).name << " " << KernelPathName(path);
        }
      }
    }
  }
}

TEST(MatMul, RowsMayLieApartAndScratchMayBeUsedAgain) {
  ThreadPool pool(2);
  MatMulScratch scratch;
  for (BlockFormat format : {BlockFormat::kF16, BlockFormat::kQ4_0}) {
    const Packed w = RandomMatrix(format, 33, 256, 15);
    for (int64_t rows : {3, 1, 8}) {
      const std::vector<float> x = RandomRows(rows, 259, 16);
      std::vector<float> packed_x, y(rows * 36, 5.0f);
      for (int64_t r = 0; r < rows; ++r) packed_x.insert(packed_x.end(), &x[r * 259], &x[r * 259] + 256);
      ASSERT_TRUE(MatMul(w.Matrix(), {x.data(), rows, 256, 259}, {y.data(), rows, 33, 36}, pool, scratch).ok());
      const std::vector<float> expected = Multiply(w, packed_x, 1, MatMulKernelsFor(BestKernelPath()));
      for (int64_t r = 0; r < rows; ++r) {
        EXPECT_TRUE(SameBits(&y[r * 36], &expected[r * 33], 33)) << InfoOf(format).name;
        for (int i = 33; i < 36; ++i) EXPECT_EQ(y[r * 36 + i], 5.0f) << "between the rows";
      }
    }
  }
}

TEST(MatMul, NoRowsAreNoWork) {
  const Packed w = RandomMatrix(BlockFormat::kQ4_0, 64, 256, 17);
  ThreadPool pool(2);
  MatMulScratch scratch;
  EXPECT_TRUE(MatMul(w.Matrix(), {nullptr, 0, 256}, {nullptr, 0, 64}, pool, scratch).ok());
}

TEST(MatMul, RefusesShapesThatDoNotFit) {
  const Packed w = RandomMatrix(BlockFormat::kQ4_0, 64, 256, 12);
  std::vector<float> x(2 * 256), y(2 * 64);
  ThreadPool pool(1);
  MatMulScratch scratch;
  const absl::Status status = MatMul(w.Matrix(), {x.data(), 2, 256}, {y.data(), 1, 64}, pool, scratch);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "MatMul: x is [2, 256], y is [1, 64], expected [rows, 256] and [rows, 64]");
}

}  // namespace
}  // namespace tessera
