#include "tessera/tensor/tile_layout.h"

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::vector<uint16_t> Numbered(int64_t rows, int64_t columns) {
  std::vector<uint16_t> numbers(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i + 1);
  return numbers;
}

TEST(TileLayout, HeaderExample) {
  const int64_t k = 40, n = 70;
  const std::vector<uint16_t> numbers = Numbered(k, n);
  const TensorView<const uint16_t> row_major(numbers.data(), k, n);
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kColumns, k, n));
  std::vector<uint16_t> tiles(layout.size());
  ToTiles<uint16_t>(layout, row_major, absl::MakeSpan(tiles));
  std::vector<uint16_t> copy(numbers.size());
  const TensorView<uint16_t> back(copy.data(), k, n);
  FromTiles<uint16_t>(layout, tiles, back);
  EXPECT_EQ(copy, numbers);
}

// The test-time scaling paper, figure 4a: each two rows of a tile are interleaved.
TEST(TileLayout, TwoRowsOfATileLieInterleaved) {
  for (int64_t c = 0; c < kTileSide; ++c) {
    EXPECT_EQ(TileLayout::IndexInTile(0, c), 2 * c);
    EXPECT_EQ(TileLayout::IndexInTile(1, c), 2 * c + 1);
    EXPECT_EQ(TileLayout::IndexInTile(31, c), 15 * 64 + 2 * c + 1);
  }
}

// Figure 4b: a dot product reads tiles one after another on both sides.
TEST(TileLayout, ADotProductStreamsBothOperands) {
  constexpr int64_t kM = 64, kK = 96, kN = 128;
  const TileLayout activations = Must(TileLayout::Of(TileOrder::kRows, kM, kK));
  const TileLayout weights = Must(TileLayout::Of(TileOrder::kColumns, kK, kN));
  for (int64_t tile = 0; tile < kK / kTileSide; ++tile) {
    EXPECT_EQ(activations.IndexOf(kTileSide, tile * kTileSide), (kK / kTileSide + tile) * kTileSize);
    EXPECT_EQ(weights.IndexOf(tile * kTileSide, 3 * kTileSide), (3 * kK / kTileSide + tile) * kTileSize);
  }
}

TEST(TileLayout, EachNumberHasAPlaceOfItsOwnWhateverTheShape) {
  SeededRandom random(1);
  for (int i = 0; i < 60; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(random.Below(130)), columns = 1 + static_cast<int64_t>(random.Below(130));
    const TileLayout layout = Must(TileLayout::Of(i % 2 == 0 ? TileOrder::kRows : TileOrder::kColumns, rows, columns));
    EXPECT_EQ(layout.size() % kTileSize, 0);
    EXPECT_EQ(layout.padding(), layout.size() - rows * columns);
    std::set<int64_t> places;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t index = layout.IndexOf(r, c);
        ASSERT_TRUE(index >= 0 && index < layout.size() && places.insert(index).second) << r << ", " << c;
        const TileLayout::Place place = layout.PlaceOf(index);
        ASSERT_TRUE(place.row == r && place.column == c) << r << ", " << c;
      }
    }
  }
}

TEST(TileLayout, ThePaddingIsZero) {
  const std::vector<uint16_t> numbers = Numbered(33, 5);
  const TileLayout layout = Must(TileLayout::Of(TileOrder::kRows, 33, 5));
  std::vector<uint16_t> tiles(layout.size(), 7);
  ToTiles<uint16_t>(layout, {numbers.data(), 33, 5}, absl::MakeSpan(tiles));
  int64_t zeros = 0;
  for (const uint16_t number : tiles) zeros += number == 0 ? 1 : 0;
  EXPECT_EQ(zeros, layout.padding());
}

TEST(TileLayout, SizesFromOutsideAreChecked) {
  EXPECT_EQ(TileLayout::Of(TileOrder::kRows, 0, 5).status().message(), "tiles: rows: found 0, expected 1 or more");
  EXPECT_EQ(TileLayout::Of(TileOrder::kRows, 5, -1).status().message(), "tiles: columns: found -1, expected 1 or more");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(TileLayout::Of(TileOrder::kColumns, most, most).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(TileLayout::Of(TileOrder::kColumns, most / 64, 33).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera
