#include "tessera/quant/activation.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {
namespace {

using Groups = std::vector<ActivationGroup>;

Groups Rounded(KernelPath path, const std::vector<float>& x, int terms = 1) {
  const int64_t in_features = static_cast<int64_t>(x.size());
  Groups groups(terms * QuantizedRows::Groups(in_features));
  std::memset(static_cast<void*>(groups.data()), 0xa5, groups.size() * sizeof(ActivationGroup));
  MatMulKernelsFor(path).quantize_row(x.data(), in_features, terms, groups.data());
  return groups;
}

// The definition, one value after the other.
ActivationGroup Define(const float* x, int64_t count) {
  ActivationGroup group = {};
  float magnitude = 0;
  for (int64_t i = 0; i < count; ++i) magnitude = std::max(magnitude, std::fabs(x[i]));
  const bool zero = magnitude < 0x1p-100f;
  const float inverse = zero ? 0 : 127.0f / magnitude;
  int32_t halves[2] = {};
  for (int64_t i = 0; i < count; ++i) {
    group.values[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
    halves[i / 16] += group.values[i];
  }
  const int32_t sum = halves[0] + halves[1];
  group.scale = zero ? 0 : magnitude / 127.0f;
  group.scaled_sum = group.scale * static_cast<float>(sum);
  group.start8 = -8 * sum;
  group.start16 = -16 * sum;
  group.start128 = -128 * sum;
  group.start32[0] = -32 * halves[0];
  group.start32[1] = -32 * halves[1];
  return group;
}

void ExpectSame(const Groups& found, const Groups& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t g = 0; g < found.size(); ++g) {
    ASSERT_EQ(std::memcmp(&found[g], &expected[g], offsetof(ActivationGroup, unused)), 0) << "group " << g;
  }
}

std::vector<float> RandomRow(int64_t size, float scale, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> x(size);
  for (float& value : x) value = scale * static_cast<float>(random.Gaussian());
  return x;
}

TEST(QuantizedRows, HeaderExample) {
  constexpr int64_t in_features = 70;
  const std::vector<float> row = RandomRow(in_features, 1, 1);
  const float* x = row.data();
  const MatMulKernels& kernels = MatMulKernelsFor(BestKernelPath());
  const AlignedBuffer memory = AlignedBuffer::Allocate(QuantizedRows::BytesFor(/*rows=*/1, in_features)).value();
  std::byte* storage = memory.data();
  QuantizedRows rows(storage, in_features);
  kernels.quantize_row(x, in_features, /*terms=*/1, rows.Row(0));
  for (int64_t i = 0; i < in_features; ++i) {
    const ActivationGroup& group = rows.Row(0)[i / 32];
    EXPECT_NEAR(group.scale * group.values[i % 32], x[i], group.scale / 2 * 1.0001) << i;
  }
}

TEST(QuantizedRows, RowsLieAnOddNumberOfCacheLinesApartWithRoomForTwoTerms) {
  for (int64_t in_features : {1, 32, 33, 64, 1024, 4096, 11008}) {
    const int64_t lines = QuantizedRows::RowStride(in_features) / 64;
    EXPECT_EQ(lines % 2, 1) << in_features;
    EXPECT_GE(lines, 2 * QuantizedRows::Groups(in_features)) << in_features;
    EXPECT_EQ(QuantizedRows::BytesFor(3, in_features), 3 * 64 * lines);
  }
  const AlignedBuffer storage = AlignedBuffer::Allocate(QuantizedRows::BytesFor(3, 40)).value();
  const QuantizedRows rows(storage.data(), 40);
  EXPECT_EQ(reinterpret_cast<std::byte*>(rows.Row(2)), storage.data() + 2 * rows.stride());
}

TEST(QuantizeRow, FollowsTheDefinitionOnEveryPath) {
  for (KernelPath path : SupportedKernelPaths()) {
    for (float scale : {1e-20f, 0.01f, 1.0f, 300.0f, 1e30f}) {
      for (int64_t size : {32, 64, 320}) {
        SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << scale << " " << size);
        const std::vector<float> x = RandomRow(size, scale, 2);
        Groups expected;
        for (int64_t i = 0; i < size; i += 32) expected.push_back(Define(&x[i], 32));
        ExpectSame(Rounded(path, x), expected);
      }
    }
  }
}

TEST(QuantizeRow, ATailIsFilledWithZerosAndNothingBehindTheRowIsRead) {
  for (KernelPath path : SupportedKernelPaths()) {
    for (int64_t size = 1; size <= 70; ++size) {
      SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << size);
      std::vector<float> x = RandomRow(size, 1, 3);
      Groups expected;
      for (int64_t i = 0; i < size; i += 32) expected.push_back(Define(&x[i], std::min<int64_t>(32, size - i)));
      ExpectSame(Rounded(path, x), expected);
    }
  }
}

TEST(QuantizeRow, TiesGoToTheEvenNumber) {
  std::vector<float> x(32);
  x[0] = 127;  // One step is 1.
  const float ties[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 125.5f, 126.5f, -126.5f};
  const int even[] = {0, 2, 2, 0, -2, -2, 126, 126, -126};
  std::copy(std::begin(ties), std::end(ties), x.begin() + 1);
  for (KernelPath path : SupportedKernelPaths()) {
    const Groups groups = Rounded(path, x);
    EXPECT_EQ(groups[0].scale, 1.0f);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(groups[0].values[1 + i], even[i]) << KernelPathName(path) << " " << ties[i];
  }
}

TEST(QuantizeRow, ValuesStayWithin127WhateverTheMagnitude) {
  SeededRandom random(4);
  for (int i = 0; i < 300; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random.Below(0x7f800000 - 0x0d800000)) + 0x0d800000;  // Of 2^-100 to the largest.
    std::vector<float> x(32);
    std::memcpy(&x[5], &bits, sizeof bits);
    x[6] = -x[5];
    for (KernelPath path : SupportedKernelPaths()) {
      const ActivationGroup group = Rounded(path, x)[0];
      ASSERT_EQ(group.values[5], 127) << x[5];
      ASSERT_EQ(group.values[6], -127) << x[5];
    }
  }
}

TEST(QuantizeRow, ZerosAndTinyGroupsAreZero) {
  const float below = std::nextafter(0x1p-100f, 0.0f);
  for (KernelPath path : SupportedKernelPaths()) {
    for (float tiny : {0.0f, -0.0f, below, -below, std::numeric_limits<float>::denorm_min()}) {
      ExpectSame(Rounded(path, std::vector<float>(64, tiny), 2), Groups(4, ActivationGroup{}));
    }
    EXPECT_EQ(Rounded(path, std::vector<float>(32, 0x1p-100f))[0].values[31], 127) << "the smallest magnitude that is kept";
  }
}

TEST(QuantizeRow, OneNanOrInfinityMakesTheWholeRowNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (KernelPath path : SupportedKernelPaths()) {
    for (float odd : {kInfinity, -kInfinity, std::nanf("")}) {
      for (int at : {0, 17, 40, 95, 99}) {
        for (int terms : {1, 2}) {
          std::vector<float> x = RandomRow(100, 1, 5);
          x[at] = odd;
          for (const ActivationGroup& group : Rounded(path, x, terms)) {
            ASSERT_TRUE(std::isnan(group.scale) && std::isnan(group.scaled_sum))
                << KernelPathName(path) << " " << odd << " at " << at;
            for (int8_t value : group.values) ASSERT_EQ(value, 0);
            ASSERT_EQ(group.start8 | group.start16 | group.start128 | group.start32[0] | group.start32[1], 0);
          }
        }
      }
    }
  }
}

// The second term is the same rounding of what the first left over, which one fused operation gives exactly rounded.
TEST(QuantizeRow, ASecondTermHoldsWhatTheFirstLeftOver) {
  for (KernelPath path : SupportedKernelPaths()) {
    for (int64_t size : {32, 96, 100}) {
      SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << size);
      const std::vector<float> x = RandomRow(size, 2, 6);
      const int64_t groups = QuantizedRows::Groups(size);
      Groups expected = Rounded(path, x);
      for (int64_t g = 0; g < groups; ++g) {
        const ActivationGroup first = expected[g];
        float left[32] = {};
        for (int64_t i = 0; i < std::min<int64_t>(32, size - 32 * g); ++i)
          left[i] = std::fmaf(first.values[i], -first.scale, x[32 * g + i]);
        expected.push_back(Define(left, 32));
      }
      const Groups found = Rounded(path, x, 2);
      ExpectSame(found, expected);
      for (int64_t i = 0; i < size; ++i) {
        const ActivationGroup &first = found[i / 32], &second = found[groups + i / 32];
        const double both = double{first.scale} * first.values[i % 32] + double{second.scale} * second.values[i % 32];
        EXPECT_NEAR(both, x[i], first.scale / 254 * 1.001);  // Half a step of the second term.
      }
    }
  }
}

}  // namespace
}  // namespace tessera
