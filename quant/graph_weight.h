// What a graph reads and never writes, as a device wants it: a vector or a matrix, and the bytes that it takes.
//
//   GraphWeight weight = {.spec = {"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576}, .vector = false};
//   ASSIGN_OR_RETURN(int64_t bytes, WeightBytes(weight, WeightEncoding::kPacked));
//   weight.tile = TileScheme{TileCode::kInt4, TileScales::kTileGroup};                   // for WeightEncoding::kTiles
//
// Those that lay out a file's weights and those that run graphs agree on this and need not know each other. Thread-safe (plain data
// and a pure function).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// How a device wants its matrices: packed in panels (quant/packed_matrix.h), row-major FP32, or those that have a tile scheme in tiles
// (quant/tile_matrix.h) and the others, which the CPU computes, in panels.
enum class WeightEncoding : uint8_t { kPacked, kFloat32, kTiles };

// Read-only bytes given to each run: a vector of FP32, or a matrix in the encoding that the device asks for.
struct GraphWeight {
  MatrixSpec spec = {};
  bool vector = false;
  std::optional<TileScheme> tile = {};  // Only of a matrix, and only with kTiles. spec.format then says nothing.
};

// Bytes of a weight as `encoding` has it. The errors of PackedMatrix::BytesFor and TileMatrix::BytesFor; OutOfRange if the size
// overflows. kPacked and kFloat32 do not look at weight.tile.
absl::StatusOr<int64_t> WeightBytes(const GraphWeight& weight, WeightEncoding encoding);

}  // namespace tessera
