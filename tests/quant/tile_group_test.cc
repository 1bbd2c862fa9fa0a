#include "tessera/quant/tile_group.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr TileCode kAll[] = {TileCode::kInt4, TileCode::kIq4Nl, TileCode::kNf4, TileCode::kFp4, TileCode::kInt8};

struct Weights {
  Weights(int64_t outputs, int64_t inputs, uint64_t seed) : numbers(static_cast<size_t>(outputs * inputs)), n(outputs), k(inputs) {
    SeededRandom random(seed);
    for (float& number : numbers) number = static_cast<float>(random.Gaussian());
  }
  TensorView<const float> view() const { return {numbers.data(), n, k}; }

  std::vector<float> numbers;
  int64_t n, k;
};

std::vector<std::byte> Quantized(TileCode code, const Weights& weights, const TileLayout& layout) {
  std::vector<std::byte> groups(static_cast<size_t>(TileGroupBytes(code, layout)));
  Must(QuantizeTileGroups(code, "w", weights.view(), layout, absl::MakeSpan(groups)));
  return groups;
}

std::vector<uint16_t> Dequantized(TileCode code, const std::vector<std::byte>& groups, const TileLayout& layout) {
  std::vector<uint16_t> halves(static_cast<size_t>(layout.size()));
  DequantizeTileGroups(code, groups, absl::MakeSpan(halves));
  return halves;
}

TEST(TileGroup, HeaderExample) {
  const int64_t k = 96, n = 70;
  const Weights weights(n, k, 1);
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, k, n));
  std::vector<std::byte> groups(static_cast<size_t>(TileGroupBytes(TileCode::kInt4, layout)));
  Must(QuantizeTileGroups(TileCode::kInt4, "ffn_up.weight", weights.view(), layout, absl::MakeSpan(groups)));
  std::vector<uint16_t> halves(static_cast<size_t>(layout.size()));
  DequantizeTileGroups(TileCode::kInt4, groups, absl::MakeSpan(halves));
  EXPECT_NEAR(HalfToFloat(halves[static_cast<size_t>(layout.IndexOf(5, 3))]), weights.view().row(3)[5], 0.3f);
}

// The test-time scaling paper, figure 7: 4.5 and 8.5 bits per weight, scales first.
TEST(TileGroup, ASuperGroupHasTheBytesOfThePaper) {
  EXPECT_EQ(SuperGroupBytes(TileCode::kInt4), 144);
  EXPECT_EQ(SuperGroupBytes(TileCode::kInt8), 272);
  // One number other than 0 in each group: code 0 of its scale there, and 8 elsewhere.
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, 32, 32));
  for (int e = 0; e < kSuperGroup; ++e) {
    Weights weights(32, 32, 1);
    std::fill(weights.numbers.begin(), weights.numbers.end(), 0.0f);
    const TileLayout::Place place = layout.PlaceOf(e);
    weights.numbers[static_cast<size_t>(place.column * 32 + place.row)] = -8;
    const std::vector<std::byte> groups = Quantized(TileCode::kInt4, weights, layout);
    for (int g = 0; g < kTileGroups; ++g) {
      uint16_t scale;
      std::memcpy(&scale, groups.data() + 2 * g, sizeof scale);
      ASSERT_EQ(HalfToFloat(scale), g == e / kTileGroup ? 1.0f : 0.0f) << e;
    }
    const int group = e / kTileGroup, t = e % kTileGroup;   // Another way to say where it lies: by the group.
    const std::byte byte = groups[static_cast<size_t>(16 + 64 * (group & 1) + 2 * t + ((group >> 1) & 1))];
    ASSERT_EQ(static_cast<int>(group >> 2 == 0 ? byte & std::byte{15} : byte >> 4), 0) << e;
    ASSERT_EQ(static_cast<int>(group >> 2 == 0 ? byte >> 4 : byte & std::byte{15}), 8) << e;
  }
}

// A group is 2 inputs x 16 outputs, and a super-group a quarter of a tile.
TEST(TileGroup, AGroupIsAPatchOfATile) {
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, 64, 64));
  for (int64_t index = 0; index < layout.size(); ++index) {
    const TileLayout::Place place = layout.PlaceOf(index);
    const int64_t in_tile = index % kTileSize, s = in_tile / kSuperGroup, g = in_tile % kSuperGroup / kTileGroup, t = in_tile % kTileGroup;
    ASSERT_EQ(place.row % 32, 8 * s + 2 * (g >> 1) + (t & 1));
    ASSERT_EQ(place.column % 32, 16 * (g & 1) + (t >> 1));
  }
}

TEST(TileGroup, EachNumberTakesTheNearestCodeOfItsGroup) {
  for (const TileCode code : kAll) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{32, 32}, {33, 65}, {70, 40}, {1, 1}}) {
      const Weights weights(n, k, 3);
      const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, k, n));
      const std::vector<std::byte> groups = Quantized(code, weights, layout);
      const std::vector<uint16_t> halves = Dequantized(code, groups, layout);
      for (int64_t index = 0; index < layout.size(); ++index) {
        const TileLayout::Place place = layout.PlaceOf(index);
        const bool padding = place.row >= k || place.column >= n;
        const float number = padding ? 0 : weights.view().row(place.column)[place.row];
        uint16_t bits;
        std::memcpy(&bits, groups.data() + index / kSuperGroup * SuperGroupBytes(code) + index % kSuperGroup / kTileGroup * 2, sizeof bits);
        const float scale = HalfToFloat(bits), found = HalfToFloat(halves[static_cast<size_t>(index)]);
        float best = std::numeric_limits<float>::infinity();
        for (int c = 0; c < (code == TileCode::kInt8 ? 255 : 16); ++c) {
          const float value = code == TileCode::kInt8 ? static_cast<float>(c - 127) : HalfToFloat(TileTable(code)[static_cast<size_t>(c)]);
          best = std::min(best, std::fabs(value * scale - number));
        }
        // The scale is rounded after codes are chosen, and the product once more.
        ASSERT_LE(std::fabs(found - number), best + 2e-3f * std::fabs(number) + 1e-6f) << TileCodeName(code) << " at " << index;
      }
    }
  }
}

// Common groups along the inputs, as files have them, lose as much: the test-time scaling paper, section 5.1.1.
TEST(TileGroup, NormalWeightsLoseNoMoreInPatchesThanInRuns) {
  const Weights weights(256, 512, 5);
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, 512, 256));
  const std::vector<uint16_t> halves = Dequantized(TileCode::kInt4, Quantized(TileCode::kInt4, weights, layout), layout);
  std::vector<std::byte> blocks(static_cast<size_t>(256 * 512 / 32 * 18));
  std::vector<float> common(weights.numbers.size());
  InfoOf(BlockFormat::kQ4_0).quantize(weights.numbers.data(), 256 * 512, blocks.data());
  InfoOf(BlockFormat::kQ4_0).dequantize(blocks.data(), 256 * 512, common.data());
  double tiles = 0, runs = 0;
  for (int64_t row = 0; row < 256; ++row) {
    for (int64_t k = 0; k < 512; ++k) {
      const double number = weights.view().row(row)[k];
      tiles += std::pow(HalfToFloat(halves[static_cast<size_t>(layout.IndexOf(k, row))]) - number, 2);
      runs += std::pow(common[static_cast<size_t>(row * 512 + k)] - number, 2);
    }
  }
  EXPECT_NEAR(tiles / runs, 1, 0.02);
}

TEST(TileGroup, NumbersThatCannotBeHeldAreNamed) {
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, 40, 3));
  std::vector<std::byte> groups(static_cast<size_t>(TileGroupBytes(TileCode::kInt4, layout)));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 1e9f}) {
    Weights weights(3, 40, 1);
    weights.numbers[2 * 40 + 36] = bad;
    const absl::Status status = QuantizeTileGroups(TileCode::kInt4, "blk.0.ffn_up.weight", weights.view(), layout, absl::MakeSpan(groups));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find("blk.0.ffn_up.weight: output "), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace tessera
