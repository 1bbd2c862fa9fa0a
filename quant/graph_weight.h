// The read-only data of a graph in a device's encoding: a vector or a matrix, and the number of bytes.
//
//   GraphWeight weight = {.spec = {"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576}, .vector = false};
//   ASSIGN_OR_RETURN(int64_t bytes, WeightBytes(weight, WeightEncoding::kPacked));
//   weight.tile = TileScheme{TileCode::kInt4, TileScales::kTileGroup};                   // for WeightEncoding::kTiles
//
// A shared definition for the code that lays out a file's weights and the code that runs graphs; neither depends on the other. Thread-safe
// (plain data and a pure function).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// A device's encoding of matrices. kPacked: panels (quant/packed_matrix.h). kFloat32: row-major FP32. kTiles: matrices with a tile scheme
// are in tiles (quant/tile_matrix.h), and the other matrices, which the CPU computes, are in panels.
enum class WeightEncoding : uint8_t { kPacked, kFloat32, kTiles };

// Read-only bytes given to each run: a vector of FP32, or a matrix in the device's encoding.
struct GraphWeight {
  MatrixSpec spec = {};
  bool vector = false;
  std::optional<TileScheme> tile = {};  // Only for a matrix, and only with kTiles; spec.format is then ignored.
};

// Returns the bytes of a weight in `encoding`. Errors: as PackedMatrix::BytesFor and TileMatrix::BytesFor; OutOfRange if the size
// overflows. kPacked and kFloat32 ignore weight.tile.
absl::StatusOr<int64_t> WeightBytes(const GraphWeight& weight, WeightEncoding encoding);

}  // namespace tessera
