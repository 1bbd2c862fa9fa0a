// How a phone NPU's matrix unit (Hexagon HMX) wants a matrix: tiles of 32 x 32, in which two rows are interleaved.
//
//   ASSIGN_OR_RETURN(const TileLayout layout, TileLayout::Of(TileOrder::kColumns, /*rows=*/k, /*columns=*/n));   // weights
//   std::vector<uint16_t> tiles(layout.size());
//   ToTiles<uint16_t>(layout, row_major, absl::MakeSpan(tiles));        // tails are padded with zeros
//   FromTiles<uint16_t>(layout, tiles, back);
//
// Number (r, c) of a tile lies at (r / 2) * 64 + c * 2 + r % 2: paper 001, section 3.1.2 and figure 4a. Tiles follow each other in the
// order in which a product reads them (figure 4b): those of activations (rows of tokens, columns of inputs) and of outputs along their
// rows, those of weights (rows of inputs, columns of outputs) along their columns, so that a dot product streams both. Values; pure
// functions.
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
  kColumns,  // Weights: those of a column do.
};

class TileLayout {
 public:
  // InvalidArgument (rows or columns, found, expected) for a number below 1; OutOfRange if the padded size does not fit in 63 bits.
  static absl::StatusOr<TileLayout> Of(TileOrder order, int64_t rows, int64_t columns);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t row_tiles() const { return row_tiles_; }        // That lie below each other.
  int64_t column_tiles() const { return column_tiles_; }  // That lie beside each other.
  int64_t size() const { return row_tiles_ * column_tiles_ * kTileSize; }   // Numbers, those of the padding included.
  int64_t padding() const { return size() - rows_ * columns_; }

  // Where (r, c) lies among them. REQUIRES: r and c are within the tiles.
  int64_t IndexOf(int64_t r, int64_t c) const {
    const int64_t row_tile = r / kTileSide, column_tile = c / kTileSide;
    const int64_t tile = order_ == TileOrder::kRows ? row_tile * column_tiles_ + column_tile : column_tile * row_tiles_ + row_tile;
    return tile * kTileSize + IndexInTile(r % kTileSide, c % kTileSide);
  }
  static constexpr int64_t IndexInTile(int64_t r, int64_t c) { return r / 2 * (2 * kTileSide) + c * 2 + r % 2; }

  // The other way.
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

// REQUIRES, as of FromTiles: `matrix` is [layout.rows(), layout.columns()] and `tiles` has layout.size() numbers.
template <typename T>
void ToTiles(const TileLayout& layout, TensorView<const T> matrix, absl::Span<T> tiles) {
  std::fill(tiles.begin(), tiles.end(), T());
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.columns(); ++c) tiles[static_cast<size_t>(layout.IndexOf(r, c))] = matrix.row(r)[c];
  }
}

// What lies in the padding is not read.
template <typename T>
void FromTiles(const TileLayout& layout, absl::Span<const T> tiles, TensorView<T> matrix) {
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.columns(); ++c) matrix.row(r)[c] = tiles[static_cast<size_t>(layout.IndexOf(r, c))];
  }
}

}  // namespace tessera
