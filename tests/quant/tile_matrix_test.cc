#include "tessera/quant/tile_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/tile_group.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

constexpr TileCode kCodes[] = {TileCode::kInt4, TileCode::kIq4Nl, TileCode::kNf4, TileCode::kFp4, TileCode::kInt8};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<TileScheme> AllSchemes() {
  std::vector<TileScheme> all = {{TileCode::kHalf}};
  for (const TileCode code : kCodes) {
    for (int scales = 0; scales < kTileScales; ++scales) all.push_back({code, static_cast<TileScales>(scales)});
  }
  return all;
}

struct Weights {
  Weights(int64_t outputs, int64_t inputs, uint64_t seed) : spec({"blk.0.w", BlockFormat::kF32, outputs, inputs}) {
    SeededRandom random(seed);
    for (int64_t i = 0; i < outputs * inputs; ++i) numbers.push_back(static_cast<float>(random.Gaussian()));
  }
  TensorView<const float> view() const { return {numbers.data(), spec.out_features, spec.in_features}; }
  float& at(int64_t output, int64_t input) { return numbers[static_cast<size_t>(output * spec.in_features + input)]; }
  float Largest() const {
    float largest = 0;
    for (const float x : numbers) largest = std::max(largest, std::fabs(x));
    return largest;
  }

  MatrixSpec spec;
  std::vector<float> numbers;
};

AlignedBuffer Bytes(const MatrixSpec& spec, TileScheme scheme) {
  return Must(AlignedBuffer::Allocate(Must(TileMatrix::BytesFor(spec, scheme))));
}

AlignedBuffer Quantized(const Weights& weights, TileScheme scheme, absl::Span<const float> importance = {}) {
  AlignedBuffer buffer = Bytes(weights.spec, scheme);
  const TileMatrix::Choice choice = {.largest = weights.Largest(), .importance = importance};
  Must(TileMatrix::Quantize(weights.spec, scheme, weights.view(), choice, buffer.bytes()));
  return buffer;
}

std::vector<float> Rows(const MatrixSpec& spec, TileScheme scheme, const AlignedBuffer& buffer) {
  const TileMatrix matrix = Must(TileMatrix::Open(spec, scheme, buffer.bytes()));
  std::vector<float> rows(static_cast<size_t>(spec.out_features * spec.in_features));
  for (int64_t row = 0; row < spec.out_features; ++row) matrix.ReadRow(row, rows.data() + row * spec.in_features);
  return rows;
}

bool Same(const AlignedBuffer& a, const AlignedBuffer& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.size())) == 0;
}

void ExpectRefused(const absl::Status& status, absl::string_view text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_NE(std::string(status.message()).find(std::string(text)), std::string::npos) << status << " lacks: " << text;
}

TEST(TileMatrix, HeaderExample) {
  const Weights sample(1536, 576, 1);
  const TensorView<const float> weights = sample.view();
  const MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kF32, /*out_features=*/1536, /*in_features=*/576};
  const TileScheme scheme = {TileCode::kInt4, TileScales::kTileGroup};
  int64_t bytes = Must(TileMatrix::BytesFor(spec, scheme));
  AlignedBuffer buffer = Must(AlignedBuffer::Allocate(bytes));
  Must(TileMatrix::Quantize(spec, scheme, weights, {}, buffer.bytes()));
  TileMatrix matrix = Must(TileMatrix::Open(spec, scheme, buffer.bytes()));
  EXPECT_EQ(bytes, 48 * 18 * 576);
  EXPECT_EQ(matrix.shape().panels, 48);
  EXPECT_EQ(matrix.shape().panel_bytes, 18 * 576);
  std::vector<float> row(576);
  matrix.ReadRow(77, row.data());
  EXPECT_NEAR(row[5], weights.row(77)[5], 0.5f);
}

// Two independent ways to the same bytes: the layout of tile_group.h is the paper's, figure 7.
TEST(TileMatrix, TileGroupsHaveTheBytesOfTheirOwnHeader) {
  for (const TileCode code : kCodes) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{32, 32}, {70, 100}, {1, 1}, {33, 64}}) {
      const Weights weights(n, k, 3);
      const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, k, n));
      std::vector<std::byte> groups(static_cast<size_t>(TileGroupBytes(code, layout)));
      Must(QuantizeTileGroups(code, "w", weights.view(), layout, absl::MakeSpan(groups)));
      const AlignedBuffer buffer = Quantized(weights, {code, TileScales::kTileGroup});
      ASSERT_EQ(buffer.size(), static_cast<int64_t>(groups.size()));
      EXPECT_EQ(std::memcmp(buffer.data(), groups.data(), groups.size()), 0) << TileCodeName(code) << " " << n << " x " << k;
      std::vector<uint16_t> halves(static_cast<size_t>(layout.size()));
      DequantizeTileGroups(code, groups, absl::MakeSpan(halves));
      const std::vector<float> rows = Rows(weights.spec, {code, TileScales::kTileGroup}, buffer);
      for (int64_t i = 0; i < n * k; ++i) {
        ASSERT_EQ(rows[static_cast<size_t>(i)], HalfToFloat(halves[static_cast<size_t>(layout.IndexOf(i % k, i / k))])) << i;
      }
    }
  }
}

// What docs/tiles.md says, byte by byte: a lone 1 among zeros.
TEST(TileMatrix, CodesAndScalesLieWhereTheLayoutSays) {
  for (const TileScales scales : {TileScales::kCommonGroup, TileScales::kChannel, TileScales::kTensor}) {
    const bool common = scales == TileScales::kCommonGroup;
    for (const auto& [o, k] : {std::pair<int64_t, int64_t>{0, 0}, {5, 33}, {31, 62}, {32, 1}, {63, 63}}) {
      Weights weights(64, 64, 1);
      std::fill(weights.numbers.begin(), weights.numbers.end(), 0.0f);
      weights.at(o, k) = -8;
      const AlignedBuffer four = Quantized(weights, {TileCode::kInt4, scales}), eight = Quantized(weights, {TileCode::kInt8, scales});
      const int64_t header = common ? 0 : 64, tile4 = common ? 576 : 512, tile8 = common ? 1088 : 1024;
      const std::byte* const panel4 = four.data() + o / 32 * (header + 2 * tile4);
      const std::byte* const panel8 = eight.data() + o / 32 * (header + 2 * tile8);
      const std::byte code = panel4[header + k / 32 * tile4 + k % 32 / 2 * 32 + o % 32];
      EXPECT_EQ(code, k % 2 == 0 ? std::byte{0x80} : std::byte{0x08}) << o << ", " << k;
      const int expected = scales == TileScales::kTensor ? -127 : 127;   // A matrix's scale is not negative, others may be.
      EXPECT_EQ(static_cast<int8_t>(panel8[header + k / 32 * tile8 + k % 32 * 32 + o % 32]), expected);
      uint16_t scale;
      std::memcpy(&scale, common ? panel4 + k / 32 * tile4 + 512 + 2 * (o % 32) : panel4 + 2 * (o % 32), sizeof scale);
      EXPECT_EQ(HalfToFloat(scale), 1.0f);
    }
  }
}

TEST(TileMatrix, HalvesLieInTheTilesOfTheMatrixUnit) {
  const Weights weights(70, 100, 4);
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, 100, 70));
  const AlignedBuffer buffer = Quantized(weights, {TileCode::kHalf});
  ASSERT_EQ(buffer.size(), 2 * layout.size());
  for (int64_t i = 0; i < layout.size(); ++i) {
    const TileLayout::Place place = layout.PlaceOf(i);
    const bool padding = place.row >= 100 || place.column >= 70;
    uint16_t half;
    std::memcpy(&half, buffer.data() + 2 * i, sizeof half);
    ASSERT_EQ(half, padding ? 0 : FloatToHalf(weights.view().row(place.column)[place.row])) << i;
  }
}

// The scale of a weight, where scales are not of tile groups.
float ScaleAt(const AlignedBuffer& buffer, const PanelShape& shape, TileScheme scheme, int64_t output, int64_t input) {
  const bool common = scheme.scales == TileScales::kCommonGroup;
  const int64_t in_panel = common ? input / 32 * TileBytes(scheme) + (BitsOf(scheme.code) == 4 ? 512 : 1024) : 0;
  uint16_t half;
  std::memcpy(&half, buffer.data() + output / 32 * shape.panel_bytes + in_panel + 2 * (output % 32), sizeof half);
  return HalfToFloat(half);
}

// Those of tile groups: tests/quant/tile_group_test.cc. The scale is rounded after codes are chosen, and a group's product once more.
TEST(TileMatrix, EachNumberTakesTheNearestCode) {
  const Weights weights(40, 70, 5);
  for (const TileScheme scheme : AllSchemes()) {
    if (scheme.scales == TileScales::kTileGroup) continue;
    const AlignedBuffer buffer = Quantized(weights, scheme);
    const std::vector<float> rows = Rows(weights.spec, scheme, buffer);
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t output = static_cast<int64_t>(i) / 70, input = static_cast<int64_t>(i) % 70;
      const float scale = ScaleAt(buffer, TileMatrix::ShapeOf(weights.spec, scheme), scheme, output, input), number = weights.numbers[i];
      float best = kInfinity;
      for (int c = 0; c < (scheme.code == TileCode::kInt8 ? 255 : 16); ++c) {
        const float value =
            scheme.code == TileCode::kInt8 ? static_cast<float>(c - 127) : HalfToFloat(TileTable(scheme.code)[static_cast<size_t>(c)]);
        best = std::min(best, std::fabs(value * scale - number));
      }
      ASSERT_LE(std::fabs(rows[i] - number), best + 2e-3f * std::fabs(number) + 1e-6f) << TileSchemeName(scheme) << " at " << i;
    }
  }
}

TEST(TileMatrix, TiesTakeTheLowerCodeAndTheEvenByte) {
  Weights weights(1, 32, 1);
  weights.numbers = std::vector<float>(32, 0.0f);
  weights.at(0, 0) = -8, weights.at(0, 1) = 0.5f, weights.at(0, 2) = -0.5f, weights.at(0, 3) = 2.5f;
  std::vector<float> row = Rows(weights.spec, {TileCode::kInt4, TileScales::kCommonGroup},
                                Quantized(weights, {TileCode::kInt4, TileScales::kCommonGroup}));
  EXPECT_EQ(std::vector<float>(row.begin(), row.begin() + 4), (std::vector<float>{-8, 0, -1, 2}));
  weights.at(0, 0) = 6, weights.at(0, 1) = 2.5f, weights.at(0, 2) = -2.5f, weights.at(0, 3) = -0.25f;
  row = Rows(weights.spec, {TileCode::kFp4, TileScales::kCommonGroup}, Quantized(weights, {TileCode::kFp4, TileScales::kCommonGroup}));
  EXPECT_EQ(std::vector<float>(row.begin(), row.begin() + 4), (std::vector<float>{6, 2, -2, 0}));
  weights.at(0, 0) = 127, weights.at(0, 1) = 2.5f, weights.at(0, 2) = 3.5f, weights.at(0, 3) = -0.5f;
  row = Rows(weights.spec, {TileCode::kInt8, TileScales::kCommonGroup}, Quantized(weights, {TileCode::kInt8, TileScales::kCommonGroup}));
  EXPECT_EQ(std::vector<float>(row.begin(), row.begin() + 4), (std::vector<float>{127, 2, 4, 0}));
}

TEST(TileMatrix, PanelsQuantizedAloneHaveTheSameBytes) {
  const Weights weights(150, 70, 6);
  for (const TileScheme scheme : AllSchemes()) {
    const AlignedBuffer whole = Quantized(weights, scheme);
    MatrixSpec part = weights.spec;
    part.out_features = 150 - 64;
    const int64_t before = 2 * TileMatrix::ShapeOf(weights.spec, scheme).panel_bytes;
    std::vector<std::byte> bytes(static_cast<size_t>(whole.size() - before));
    const TileMatrix::Choice choice = {.largest = weights.Largest()};
    Must(TileMatrix::Quantize(part, scheme, weights.view().Rows(64, part.out_features), choice, absl::MakeSpan(bytes)));
    EXPECT_EQ(std::memcmp(bytes.data(), whole.data() + before, bytes.size()), 0) << TileSchemeName(scheme);
  }
}

double WeightedError(const Weights& weights, const std::vector<float>& rows, const std::vector<float>& importance) {
  double error = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    error += importance[i % importance.size()] * std::pow(static_cast<double>(rows[i]) - weights.numbers[i], 2);
  }
  return error;
}

TEST(TileMatrix, ASearchLowersTheWeightedError) {
  const Weights weights(64, 128, 7);
  std::vector<float> importance(128);
  for (size_t k = 0; k < importance.size(); ++k) importance[k] = k % 7 == 0 ? 50.0f : 1.0f;
  for (const TileScheme scheme : AllSchemes()) {
    const AlignedBuffer nearest = Quantized(weights, scheme), searched = Quantized(weights, scheme, importance);
    if (scheme.code == TileCode::kHalf || scheme.scales == TileScales::kTensor) {
      EXPECT_TRUE(Same(nearest, searched)) << TileSchemeName(scheme) << " has no scale to search";
      continue;
    }
    const double before = WeightedError(weights, Rows(weights.spec, scheme, nearest), importance);
    const double after = WeightedError(weights, Rows(weights.spec, scheme, searched), importance);
    EXPECT_LT(after, before) << TileSchemeName(scheme);
    const std::vector<float> none(128, 0.0f);
    EXPECT_TRUE(Same(nearest, Quantized(weights, scheme, none))) << "all scales are equally good: the nearest stays";
  }
}

TEST(TileMatrix, RepackingHoldsEveryCodeAndScale) {
  const std::pair<BlockFormat, TileCode> kExact[] = {
      {BlockFormat::kQ4_0, TileCode::kInt4}, {BlockFormat::kIQ4_NL, TileCode::kIq4Nl}, {BlockFormat::kQ8_0, TileCode::kInt8}};
  for (const auto& [format, code] : kExact) {
    const TileScheme scheme = {code, TileScales::kCommonGroup};
    ASSERT_TRUE(TileMatrix::IsExact(format, scheme));
    const MatrixSpec spec = {"w", format, 70, 96};
    std::vector<std::byte> blocks = WildBlocks(format, 70 * 96, 8);
    if (format == BlockFormat::kQ8_0) blocks[2] = std::byte{0x80};   // -128, which no quantizer writes.
    std::vector<float> expected(70 * 96);
    InfoOf(format).dequantize(blocks.data(), 70 * 96, expected.data());
    const AlignedBuffer buffer = Bytes(spec, scheme);
    Must(TileMatrix::Repack(spec, scheme, blocks, buffer.bytes()));
    const std::vector<float> rows = Rows(spec, scheme, buffer);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], HalfToFloat(FloatToHalf(expected[i]))) << TileSchemeName(scheme) << " at " << i;
    }
    ExpectRefused(TileMatrix::Repack(spec, scheme, absl::MakeSpan(blocks).subspan(1), buffer.bytes()), "GGUF bytes");
    ExpectRefused(TileMatrix::Repack({"w", format, 70, 95}, scheme, blocks, buffer.bytes()), "in_features modulo 32: found 31");
    EXPECT_FALSE(TileMatrix::IsExact(format, {code, TileScales::kTileGroup}));
    EXPECT_FALSE(TileMatrix::IsExact(BlockFormat::kQ4_K, scheme));
  }
}

TEST(TileMatrix, NumbersThatCannotBeHeldAreNamed) {
  for (const TileScheme scheme : AllSchemes()) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -kInfinity, 1e20f}) {
      Weights weights(40, 70, 9);
      weights.at(33, 66) = bad;
      const AlignedBuffer buffer = Bytes(weights.spec, scheme);
      const absl::Status status = TileMatrix::Quantize(weights.spec, scheme, weights.view(), {.largest = 6}, buffer.bytes());
      ExpectRefused(status, "blk.0.w: output 33, input 66: found ");
    }
    Weights large(1, 32, 9);
    large.at(0, 3) = 65000;
    EXPECT_TRUE(std::isfinite(Rows(large.spec, scheme, Quantized(large, scheme))[3])) << TileSchemeName(scheme);
  }
}

TEST(TileMatrix, AMatrixThatDoesNotFitIsRefused) {
  const TileScheme scheme = {TileCode::kInt4, TileScales::kTensor};
  ExpectRefused(TileMatrix::BytesFor({"w", BlockFormat::kF32, 0, 32}, scheme).status(), "out_features: found 0");
  ExpectRefused(TileMatrix::BytesFor({"w", BlockFormat::kF32, 32, 0}, scheme).status(), "in_features: found 0");
  ExpectRefused(TileMatrix::BytesFor({"w", BlockFormat::kF32, 32, 16385}, scheme).status(), "in_features: found 16385, expected <= 16384");
  const MatrixSpec huge = {"w", BlockFormat::kF32, int64_t{1} << 62, 16384};
  EXPECT_EQ(TileMatrix::BytesFor(huge, scheme).status().code(), absl::StatusCode::kOutOfRange);
  const Weights weights(40, 70, 10);
  const AlignedBuffer buffer = Bytes(weights.spec, scheme);
  const auto quantize = [&](TensorView<const float> view, TileMatrix::Choice choice, absl::Span<std::byte> out) {
    return TileMatrix::Quantize(weights.spec, scheme, view, choice, out);
  };
  const float largest = weights.Largest();
  ExpectRefused(quantize(weights.view(), {.largest = largest}, buffer.bytes().subspan(64)), "bytes: found ");
  ExpectRefused(quantize(weights.view().Rows(0, 39), {.largest = largest}, buffer.bytes()), "rows of weights: found 39, expected 40");
  ExpectRefused(quantize({weights.numbers.data(), 40, 69}, {.largest = largest}, buffer.bytes()), "columns of weights: found 69");
  ExpectRefused(quantize(weights.view(), {.largest = largest * 0.9f}, buffer.bytes()), "expected a magnitude of at most ");
  ExpectRefused(quantize(weights.view(), {.largest = kInfinity}, buffer.bytes()), "largest magnitude: found inf");
  ExpectRefused(quantize(weights.view(), {.largest = 1e20f}, buffer.bytes()), "largest magnitude: found 1e+20");
  const std::vector<float> few(69, 1.0f);
  ExpectRefused(quantize(weights.view(), {.largest = largest, .importance = few}, buffer.bytes()), "found 69, expected 70");
  std::vector<float> negative(70, 1.0f);
  negative[7] = -1;
  ExpectRefused(quantize(weights.view(), {.largest = largest, .importance = negative}, buffer.bytes()), "importance of input 7: found -1");
}

TEST(TileMatrix, BytesOfAnotherSizeOrPlaceAreNotOpened) {
  const Weights weights(40, 70, 11);
  const TileScheme scheme = {TileCode::kInt8, TileScales::kCommonGroup};
  const AlignedBuffer buffer = Quantized(weights, scheme), larger = Must(AlignedBuffer::Allocate(buffer.size() + 64));
  ExpectRefused(TileMatrix::Open(weights.spec, scheme, larger.bytes()).status(), "bytes: found ");
  const auto shifted = larger.bytes().subspan(32, static_cast<size_t>(buffer.size()));
  ExpectRefused(TileMatrix::Open(weights.spec, scheme, shifted).status(), "address modulo 64: found 32");
}

}  // namespace
}  // namespace tessera
