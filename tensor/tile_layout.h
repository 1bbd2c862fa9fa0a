// The layout of a matrix for a phone NPU's matrix unit (Hexagon HMX): tiles of 32 x 32 with two rows interleaved.
//
//   ASSIGN_OR_RETURN(const TileLayout layout, TileLayout::Of(TileOrder::kColumns, /*rows=*/k, /*columns=*/n));   // weights
//   std::vector<uint16_t> tiles(layout.size());
//   ToTiles<uint16_t>(layout, row_major, absl::MakeSpan(tiles));        // tails are padded with zeros
//   FromTiles<uint16_t>(layout, tiles, back);
//
// Number (r, c) of a tile is at (r / 2) * 64 + c * 2 + r % 2: the test-time scaling paper, section 3.1.2 and figure 4a. Tiles follow each
// other in the order of a product's reads (figure 4b), so that a dot product streams both matrices. Tiles of activations (rows of tokens,
// columns of inputs) and of outputs follow each other along rows. Tiles of weights (rows of inputs, columns of outputs) follow each other
// along columns.
//
// Threads: thread-safe (values, pure functions).
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

inline constexpr int64_t kTileSide = 32, kTileSize = kTileSide * kTileSide;

enum class TileOrder : uint8_t {
  kRows,     // Activations and outputs: the tiles of a row of tiles follow each other.
  kColumns,  // Weights: the tiles of a column of tiles follow each other.
};

class TileLayout {
 public:
  // Creates a layout. InvalidArgument (rows or columns, found, expected) for a number below 1; OutOfRange if the padded size does not fit
  // in 63 bits.
  static absl::StatusOr<TileLayout> Of(TileOrder order, int64_t rows, int64_t columns);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t row_tiles() const { return row_tiles_; }        // Number of tiles below each other.
  int64_t column_tiles() const { return column_tiles_; }  // Number of tiles next to each other.
  int64_t size() const { return row_tiles_ * column_tiles_ * kTileSize; }   // Number of numbers, including padding.
  int64_t padding() const { return size() - rows_ * columns_; }

  // Returns the index of number (r, c) in tile order. REQUIRES: r and c are within the tiles.
  int64_t IndexOf(int64_t r, int64_t c) const {
    const int64_t row_tile = r / kTileSide, column_tile = c / kTileSide;
    const int64_t tile = order_ == TileOrder::kRows ? row_tile * column_tiles_ + column_tile : column_tile * row_tiles_ + row_tile;
    return tile * kTileSize + IndexInTile(r % kTileSide, c % kTileSide);
  }
  static constexpr int64_t IndexInTile(int64_t r, int64_t c) { return r / 2 * (2 * kTileSide) + c * 2 + r % 2; }

  // The inverse of IndexOf.
  struct Place { int64_t row = 0; int64_t column = 0; };
  Place PlaceOf(int64_t index) const {
    const int64_t tile = index / kTileSize, in_tile = index % kTileSize;
    const int64_t along = order_ == TileOrder::kRows ? column_tiles_ : row_tiles_;
    const int64_t row_tile = order_ == TileOrder::kRows ? tile / along : tile % along;
    const int64_t column_tile = order_ == TileOrder::kRows ? tile % along : tile / along;
    const int64_t pair = in_tile / (2 * kTileSide), in_pair = in_tile % (2 * kTileSide);
    return {row_tile * kTileSide + 2 * pair + in_pair % 2, column_tile * kTileSide + in_pair / 2};
  }

 private:
  TileLayout(TileOrder order, int64_t rows, int64_t columns, int64_t row_tiles, int64_t column_tiles)
      : order_(order), rows_(rows), columns_(columns), row_tiles_(row_tiles), column_tiles_(column_tiles) {}

  TileOrder order_;
  int64_t rows_, columns_, row_tiles_, column_tiles_;
};

// Copies `matrix` into tiles; padding becomes zeros. REQUIRES, also for FromTiles: `matrix` is [layout.rows(), layout.columns()] and
// `tiles` has layout.size() numbers.
template <typename T>
void ToTiles(const TileLayout& layout, TensorView<const T> matrix, absl::Span<T> tiles) {
  std::fill(tiles.begin(), tiles.end(), T());
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.columns(); ++c) tiles[static_cast<size_t>(layout.IndexOf(r, c))] = matrix.row(r)[c];
  }
}

// Copies tiles into `matrix`. Does not read the padding.
template <typename T>
void FromTiles(const TileLayout& layout, absl::Span<const T> tiles, TensorView<T> matrix) {
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.columns(); ++c) matrix.row(r)[c] = tiles[static_cast<size_t>(layout.IndexOf(r, c))];
  }
}

}  // namespace tessera
