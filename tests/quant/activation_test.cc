#include "tessera/quant/activation.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {
namespace {

template <typename Group = ActivationGroup>
std::vector<Group> Rounded(KernelPath path, const std::vector<float>& x) {
  const int64_t in_features = static_cast<int64_t>(x.size());
  std::vector<Group> groups(QuantizedRows::Groups(in_features));
  std::memset(static_cast<void*>(groups.data()), 0xa5, groups.size() * sizeof(Group));
  if constexpr (std::is_same_v<Group, ActivationGroup>) {
    MatMulKernelsFor(path).quantize_row(x.data(), in_features, groups.data());
  } else {
    MatMulKernelsFor(path).quantize_row_fine(x.data(), in_features, groups.data());
  }
  return groups;
}

// What a path multiplies weights by, whose form in memory is its own: products with 32 outputs, each of which takes one input.
std::vector<int32_t> ValuesOf(KernelPath path, const FineActivationGroup& group) {
  constexpr int kBytes = 2 + 32;  // Bytes of a block: FP16's 1.0, and the codes.
  std::vector<std::byte> blocks(32 * kBytes);
  for (int out = 0; out < 32; ++out) {
    blocks[out * kBytes + 1] = std::byte{0x3c};
    blocks[out * kBytes + 2 + out] = std::byte{1};
  }
  const MatrixSpec spec = {"one", BlockFormat::kQ8_0, 32, 32};
  const AlignedBuffer packed = AlignedBuffer::Allocate(PackedMatrix::BytesFor(spec).value()).value();
  EXPECT_EQ(PackedMatrix::Pack(spec, blocks, packed.bytes()), absl::OkStatus());
  FineActivationGroup unscaled = group;
  unscaled.scale = 1;
  float y[32];
  MatMulKernelsFor(path).panels[static_cast<int>(spec.format)]({.panels = packed.data(),
                                                                .panel_end = 1,
                                                                .in_features = 32,
                                                                .out_features = 32,
                                                                .rows = 1,
                                                                .x = reinterpret_cast<const std::byte*>(&unscaled),
                                                                .fine = true,
                                                                .y = y});
  return {std::begin(y), std::end(y)};
}

// The definition, one value after the other. A fine group's values are left out.
template <typename Group>
Group Define(const float* x, int64_t count) {
  constexpr float kLargest = std::is_same_v<Group, ActivationGroup> ? 127 : 32512;
  Group group = {};
  float magnitude = 0;
  for (int64_t i = 0; i < count; ++i) magnitude = std::max(magnitude, std::fabs(x[i]));
  const bool zero = magnitude < 0x1p-100f;
  const float inverse = zero ? 0 : kLargest / magnitude;
  int32_t halves[2] = {};
  for (int64_t i = 0; i < count; ++i) {
    const int32_t value = static_cast<int32_t>(std::nearbyint(x[i] * inverse));
    if (kLargest == 127) group.values[i] = static_cast<int8_t>(value);
    halves[i / 16] += value;
  }
  const int32_t sum = halves[0] + halves[1];
  group.scale = zero ? 0 : magnitude / kLargest;
  group.scaled_sum = group.scale * static_cast<float>(sum);
  group.start8 = -8 * sum;
  group.start16 = -16 * sum;
  group.start128 = -128 * sum;
  group.start32[0] = -32 * halves[0];
  group.start32[1] = -32 * halves[1];
  return group;
}

// All members of fine groups except the values.
template <typename Group>
void ExpectSame(const std::vector<Group>& found, const std::vector<Group>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  constexpr size_t kBegin = std::is_same_v<Group, ActivationGroup> ? 0 : offsetof(Group, scale);
  for (size_t g = 0; g < found.size(); ++g) {
    const auto bytes = [](const Group& group) { return reinterpret_cast<const std::byte*>(&group) + kBegin; };
    ASSERT_EQ(std::memcmp(bytes(found[g]), bytes(expected[g]), offsetof(Group, unused) - kBegin), 0) << "group " << g;
  }
}

template <typename Group>
void ExpectFollowsTheDefinition(KernelPath path, const std::vector<float>& x) {
  const int64_t size = static_cast<int64_t>(x.size());
  std::vector<Group> expected;
  for (int64_t i = 0; i < size; i += 32) expected.push_back(Define<Group>(&x[i], std::min<int64_t>(32, size - i)));
  ExpectSame(Rounded<Group>(path, x), expected);
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
  kernels.quantize_row(x, in_features, rows.Row(0));
  kernels.quantize_row_fine(x, in_features, rows.FineRow(0));
  EXPECT_NEAR(rows.FineRow(0)[2].scale, rows.Row(0)[2].scale / 256, rows.Row(0)[2].scale * 1e-8);
  for (int64_t i = 0; i < in_features; ++i) {
    const ActivationGroup& group = rows.Row(0)[i / 32];
    EXPECT_NEAR(group.scale * group.values[i % 32], x[i], group.scale / 2 * 1.0001) << i;
  }
}

TEST(QuantizedRows, RowsLieAnOddNumberOfCacheLinesApartWithRoomForBothRoundings) {
  for (int64_t in_features : {1, 32, 33, 64, 1024, 4096, 11008}) {
    const int64_t lines = QuantizedRows::RowStride(in_features) / 64;
    EXPECT_EQ(lines % 2, 1) << in_features;
    EXPECT_GE(lines, 3 * QuantizedRows::Groups(in_features)) << in_features;
    EXPECT_EQ(QuantizedRows::BytesFor(3, in_features), 3 * 64 * lines);
  }
  const AlignedBuffer storage = AlignedBuffer::Allocate(QuantizedRows::BytesFor(3, 40)).value();
  const QuantizedRows rows(storage.data(), 40);
  EXPECT_EQ(reinterpret_cast<std::byte*>(rows.Row(2)), storage.data() + 2 * rows.stride());
  EXPECT_EQ(reinterpret_cast<std::byte*>(rows.FineRow(2)), reinterpret_cast<std::byte*>(rows.Row(2) + 2)) << "two groups";
  EXPECT_EQ(rows.Rows(/*fine=*/false), storage.data());
  EXPECT_EQ(rows.Rows(/*fine=*/true), reinterpret_cast<std::byte*>(rows.FineRow(0)));
}

TEST(QuantizeRow, FollowsTheDefinitionOnEveryPath) {
  for (KernelPath path : SupportedKernelPaths()) {
    for (float scale : {1e-20f, 0.01f, 1.0f, 300.0f, 1e30f}) {
      for (int64_t size : {32, 64, 256, 320, 557}) {
        SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << scale << " " << size);
        const std::vector<float> x = RandomRow(size, scale, 2);
        ExpectFollowsTheDefinition<ActivationGroup>(path, x);
        ExpectFollowsTheDefinition<FineActivationGroup>(path, x);
      }
    }
  }
}

TEST(QuantizeRow, ATailIsFilledWithZerosAndNothingBehindTheRowIsRead) {
  for (KernelPath path : SupportedKernelPaths()) {
    for (int64_t size = 1; size <= 70; ++size) {
      SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << size);
      const std::vector<float> x = RandomRow(size, 1, 3);
      ExpectFollowsTheDefinition<ActivationGroup>(path, x);
      ExpectFollowsTheDefinition<FineActivationGroup>(path, x);
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
    const std::vector<ActivationGroup> groups = Rounded(path, x);
    EXPECT_EQ(groups[0].scale, 1.0f);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(groups[0].values[1 + i], even[i]) << KernelPathName(path) << " " << ties[i];
  }
}

TEST(QuantizeRow, ValuesStayWithinTheLargestWhateverTheMagnitude) {
  SeededRandom random(4);
  for (int i = 0; i < 300; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random.Below(0x7f800000 - 0x0d800000)) + 0x0d800000;  // From 2^-100 to the largest.
    std::vector<float> x(32);
    std::memcpy(&x[5], &bits, sizeof bits);
    x[6] = -x[5];
    for (KernelPath path : SupportedKernelPaths()) {
      const ActivationGroup group = Rounded(path, x)[0];
      ASSERT_EQ(group.values[5], 127) << x[5];
      ASSERT_EQ(group.values[6], -127) << x[5];
      const std::vector<int32_t> fine = ValuesOf(path, Rounded<FineActivationGroup>(path, x)[0]);
      ASSERT_EQ(fine[5], 32512) << x[5];
      ASSERT_EQ(fine[6], -32512) << x[5];
    }
  }
}

TEST(QuantizeRow, ZerosAndTinyGroupsAreZero) {
  const float below = std::nextafter(0x1p-100f, 0.0f);
  for (KernelPath path : SupportedKernelPaths()) {
    for (float tiny : {0.0f, -0.0f, below, -below, std::numeric_limits<float>::denorm_min()}) {
      const std::vector<float> x(64, tiny);
      ExpectSame(Rounded(path, x), std::vector<ActivationGroup>(2, ActivationGroup{}));
      const std::vector<FineActivationGroup> fine = Rounded<FineActivationGroup>(path, x);
      ExpectSame(fine, std::vector<FineActivationGroup>(2, FineActivationGroup{}));
      EXPECT_EQ(ValuesOf(path, fine[1]), std::vector<int32_t>(32));
    }
    EXPECT_EQ(Rounded(path, std::vector<float>(32, 0x1p-100f))[0].values[31], 127) << "the smallest magnitude that is kept";
  }
}

template <typename Group>
void ExpectNan(const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    ASSERT_TRUE(std::isnan(group.scale) && std::isnan(group.scaled_sum));
    for (int8_t value : group.values) ASSERT_EQ(value, 0);
    ASSERT_EQ(group.start8 | group.start16 | group.start128 | group.start32[0] | group.start32[1], 0);
  }
}

TEST(QuantizeRow, OneNanOrInfinityMakesTheWholeRowNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (KernelPath path : SupportedKernelPaths()) {
    for (float odd : {kInfinity, -kInfinity, std::nanf("")}) {
      for (int at : {0, 17, 40, 95, 99, 290, 299}) {
        SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << odd << " at " << at);
        std::vector<float> x = RandomRow(at < 100 ? 100 : 300, 1, 5);
        x[at] = odd;
        ExpectNan(Rounded(path, x));
        ExpectNan(Rounded<FineActivationGroup>(path, x));
      }
    }
  }
}

// Numbers, not bytes: each half of a value has its ends, and those of one sign beside the other.
TEST(QuantizeRow, FineValuesAreRoundedToNearestAndEveryPathMultipliesByThem) {
  std::vector<float> x = {32512, -32512, 127, 128, 129, -127, -128, -129, 255, 256, -255, -256, 32384, 32383, -32384, -32385};
  const std::vector<float> ties = {0.5f, 1.5f, 127.5f, 128.5f, -127.5f, -128.5f, 32383.5f, -32384.5f};
  const std::vector<int32_t> even = {0, 2, 128, 128, -128, -128, 32384, -32384};
  std::vector<int32_t> expected(x.begin(), x.end());
  x.insert(x.end(), ties.begin(), ties.end());
  expected.insert(expected.end(), even.begin(), even.end());
  x.resize(32);
  expected.resize(32);
  for (KernelPath path : SupportedKernelPaths()) {
    const FineActivationGroup group = Rounded<FineActivationGroup>(path, x)[0];
    EXPECT_EQ(group.scale, 1.0f);
    EXPECT_EQ(ValuesOf(path, group), expected) << KernelPathName(path);

    const std::vector<float> random = RandomRow(32, 2, 6);
    const FineActivationGroup fine = Rounded<FineActivationGroup>(path, random)[0];
    const std::vector<int32_t> values = ValuesOf(path, fine);
    for (int i = 0; i < 32; ++i) EXPECT_NEAR(double{fine.scale} * values[i], random[i], fine.scale / 2 * 1.01) << i;
  }
}

}  // namespace
}  // namespace tessera
