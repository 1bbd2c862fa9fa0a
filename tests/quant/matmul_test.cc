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

Packed PackedFrom(BlockFormat format, int64_t out_features, int64_t in_features, const std::vector<std::byte>& gguf) {
  Packed packed;
  packed.spec = {"w", format, out_features, in_features};
  packed.values.resize(out_features * in_features);
  InfoOf(format).dequantize(gguf.data(), out_features * in_features, packed.values.data());
  packed.bytes = AlignedBuffer::Allocate(PackedMatrix::BytesFor(packed.spec).value()).value();
  EXPECT_TRUE(PackedMatrix::Pack(packed.spec, gguf, packed.bytes.bytes()).ok());
  return packed;
}

Packed RandomMatrix(BlockFormat format, int64_t out_features, int64_t in_features, uint64_t seed) {
  return PackedFrom(format, out_features, in_features, RandomBlocks(format, out_features * in_features, seed));
}

std::vector<float> RandomRows(int64_t rows, int64_t columns, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> x(rows * columns);
  for (float& value : x) value = static_cast<float>(random.Uniform() * 2 - 1);
  return x;
}

std::vector<float> Multiply(const Packed& w, const std::vector<float>& x, int threads, const MatMulKernels& kernels,
                            bool fine = false) {
  const int64_t rows = static_cast<int64_t>(x.size()) / w.spec.in_features;
  std::vector<float> y(rows * w.spec.out_features, -1);
  ThreadPool pool(threads);
  MatMulScratch scratch;
  const int64_t in = w.spec.in_features, out = w.spec.out_features;
  EXPECT_TRUE(MatMul(w.Matrix(), {x.data(), rows, in}, {y.data(), rows, out}, pool, scratch, kernels, fine).ok());
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

// From 24 rows on, some formats' panels are prepared (quant/kernels/prepared_panel.h): 40 groups in two steps of as many as there may be.
// The last panel has 26 outputs.
TEST(MatMul, RowBitsDoNotDependOnBatch) {
  constexpr int kRows = 41, kOutputs = 58, kInputs = 1280;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, kOutputs, kInputs, 5);
    const std::vector<float> x = RandomRows(kRows, kInputs, 6);
    for (KernelPath path : SupportedKernelPaths()) {
      for (bool fine : {false, true}) {
        const auto multiply = [&](int begin, int end) {
          return Multiply(w, {x.begin() + begin * kInputs, x.begin() + end * kInputs}, 1 + end % 3, MatMulKernelsFor(path), fine);
        };
        std::vector<float> alone;
        for (int r = 0; r < kRows; ++r) {
          const std::vector<float> y = multiply(r, r + 1);
          alone.insert(alone.end(), y.begin(), y.end());
        }
        for (int rows : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 23, 24, 26, 41}) {
          const std::vector<float> y = multiply(0, rows);
          for (int r = 0; r < rows; ++r) {
            ASSERT_TRUE(SameBits(&y[r * kOutputs], &alone[r * kOutputs], kOutputs))
                << info.name << " " << KernelPathName(path) << " row " << r << " of " << rows << (fine ? " fine" : "");
          }
        }
      }
    }
  }
}

// 56 groups: steps of 18, 19 and 19 where they are prepared.
TEST(MatMul, AllInstructionSetsGiveTheSameBits) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, 45, 1792, 7);
    for (int rows : {7, 25}) {
      const std::vector<float> x = RandomRows(rows, 1792, 8);
      for (bool fine : {false, true}) {
        const std::vector<float> expected = Multiply(w, x, 1, MatMulKernelsFor(KernelPath::kPortable), fine);
        for (KernelPath path : SupportedKernelPaths()) {
          const std::vector<float> y = Multiply(w, x, 1, MatMulKernelsFor(path), fine);
          EXPECT_TRUE(SameBits(y.data(), expected.data(), y.size()))
              << info.name << " " << KernelPathName(path) << " " << rows << (fine ? " fine" : "");
        }
      }
    }
  }
}

// Blocks whose codes and scales are all at an end of their range, which no quantizer writes (Q8_0: -128), times the largest
// activations of one sign: here a sum of two products in 16 bits would saturate first.
TEST(MatMul, ExtremeWeightsAndActivationsDoNotSaturate) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.values_per_block == 1) continue;
    for (int pattern : {0x00, 0x0f, 0x7f, 0x80, 0xf0, 0xff}) {
      std::vector<std::byte> gguf = WildBlocks(info.format, 32 * 256, 9);
      for (size_t i = 0; i < gguf.size(); ++i) {
        const int at = static_cast<int>(i) % info.bytes_per_block;
        const auto holds = [at](int scale) { return scale >= 0 && (at == scale || at == scale + 1); };
        const bool exponent = info.format == BlockFormat::kMXFP4 && at == 0;
        if (!holds(info.scales[0]) && !holds(info.scales[1]) && !exponent) gguf[i] = static_cast<std::byte>(pattern);
      }
      for (size_t i = 0; info.format == BlockFormat::kIQ1_M && i < gguf.size(); i += info.bytes_per_block) {
        PutHalf(info.format, FloatToHalf(0.0015f), &gguf[i]);
      }
      const Packed w = PackedFrom(info.format, 32, 256, gguf);
      for (float sign : {1.0f, -1.0f}) {
        for (KernelPath path : SupportedKernelPaths()) {
          const std::vector<float> y = Multiply(w, std::vector<float>(256, sign), 1, MatMulKernelsFor(path));
          const std::vector<float> fine = Multiply(w, std::vector<float>(256, sign), 1, MatMulKernelsFor(path), /*fine=*/true);
          for (int o = 0; o < 32; ++o) {
            double exact = 0, magnitude = 0;
            for (int k = 0; k < 256; ++k) exact += sign * w.values[o * 256 + k], magnitude += std::fabs(w.values[o * 256 + k]);
            ASSERT_NEAR(y[o], exact, magnitude * 1e-5) << info.name << " " << pattern << " " << KernelPathName(path);
            ASSERT_NEAR(fine[o], exact, magnitude * 1e-5) << info.name << " " << pattern << " " << KernelPathName(path);
          }
        }
      }
    }
  }
}

bool SameNumber(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

TEST(MatMul, HostileScalesSpoilTheirOwnOutputOnlyAndAlikeOnEveryPath) {
  constexpr uint16_t kHostile[] = {0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x0001, 0x8001, 0x03ff, 0x7bff, 0xfbff};  // NaN, Inf, least, most.
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.values_per_block == 1) continue;
    const std::vector<std::byte> gguf = WildBlocks(info.format, 40 * 512, 18);
    const std::vector<float> x = RandomRows(3, 512, 19);
    const std::vector<float> clean = Multiply(PackedFrom(info.format, 40, 512, gguf), x, 1, MatMulKernelsFor(KernelPath::kPortable));
    for (uint16_t hostile : kHostile) {
      constexpr int kOutput = 21;
      std::vector<std::byte> spoiled = gguf;
      std::byte* block = spoiled.data() + kOutput * 512 / info.values_per_block * info.bytes_per_block;
      if (!PutHalf(info.format, hostile, block)) continue;
      const Packed w = PackedFrom(info.format, 40, 512, spoiled);
      const std::vector<float> expected = Multiply(w, x, 1, MatMulKernelsFor(KernelPath::kPortable));
      for (KernelPath path : SupportedKernelPaths()) {
        const std::vector<float> y = Multiply(w, x, 1, MatMulKernelsFor(path));
        for (size_t i = 0; i < y.size(); ++i) {
          SCOPED_TRACE(testing::Message() << info.name << " " << hostile << " " << KernelPathName(path) << " output " << i % 40);
          ASSERT_TRUE(SameNumber(y[i], expected[i])) << y[i] << " and " << expected[i];
          if (i % 40 != kOutput) {
            ASSERT_TRUE(SameNumber(y[i], clean[i]));
          } else {
            ASSERT_EQ(std::isfinite(y[i]), (hostile & 0x7c00) != 0x7c00);
          }
        }
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

// Half a step of a fine group is its magnitude / 65024: fifteen bits and a sign.
TEST(MatMul, FineRowsAreRoundedToSixteenBits) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Packed w = RandomMatrix(info.format, 64, 512, 13);
    const std::vector<float> x = RandomRows(7, 512, 14);
    for (KernelPath path : SupportedKernelPaths()) {
      const std::vector<float> y = Multiply(w, x, 1, MatMulKernelsFor(path), /*fine=*/true);
      for (int r = 0; r < 7; ++r) {
        const std::vector<float> alone = Multiply(w, {&x[r * 512], &x[r * 512] + 512}, 1, MatMulKernelsFor(path), /*fine=*/true);
        EXPECT_TRUE(SameBits(alone.data(), &y[r * 64], 64)) << info.name << " " << KernelPathName(path);
        for (int o = 0; o < 64; ++o) {
          double exact = 0, magnitude = 0, rounding = 0;
          for (int k = 0; k < 512; ++k) {
            const double weight = w.values[o * 512 + k];
            exact += weight * x[r * 512 + k];
            magnitude += std::fabs(weight * x[r * 512 + k]);
            rounding += std::fabs(weight) / 65024;
          }
          ASSERT_NEAR(y[r * 64 + o], exact, rounding + magnitude * 512 * 6e-8) << info.name << " " << KernelPathName(path);
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
