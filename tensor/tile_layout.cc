#include "tessera/tensor/tile_layout.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<TileLayout> TileLayout::Of(TileOrder order, int64_t rows, int64_t columns) {
  if (rows < 1) return absl::InvalidArgumentError(absl::StrCat("tiles: rows: found ", rows, ", expected 1 or more"));
  if (columns < 1) return absl::InvalidArgumentError(absl::StrCat("tiles: columns: found ", columns, ", expected 1 or more"));
  const int64_t row_tiles = CeilDiv(rows, kTileSide), column_tiles = CeilDiv(columns, kTileSide);
  ASSIGN_OR_RETURN(const int64_t tiles, CheckedMul(row_tiles, column_tiles));
  RETURN_IF_ERROR(CheckedMul(tiles, kTileSize).status());
  return TileLayout(order, rows, columns, row_tiles, column_tiles);
}

}  // namespace tessera
