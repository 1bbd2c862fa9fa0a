// The places of codes and scales in a tile matrix (docs/tiles.md), for all schemes.
//
//   const tiles::CodePlace place = tiles::PlaceOfCode(scheme, /*input=*/5, /*output=*/31);      // within the tile
//   int code = static_cast<int>(tile[place.byte] >> place.shift) & 15;                          // of 4 bits
//   const tiles::ScalePlace scale = tiles::PlaceOfScale(scheme, 5, 31);
//
// A panel is a header and the tiles of the panel's 32 outputs. The header has 64 bytes if scales are per output or per matrix, else there
// is none. Inputs and outputs here are numbers within one tile: 0 to 31. A tile consists of 32 runs. The numbers of a run are quantized one
// after the other; if groups have scales, a run shares one scale. Kernels take places as constants.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstdint>

#include "tessera/quant/tile_scheme.h"
#include "tessera/tensor/tile_layout.h"

namespace tessera::tiles {

inline constexpr int kRun = 32, kRuns = 32;      // Numbers of a run, runs of a tile.
inline constexpr int64_t kHeader = 64;           // 32 scales in FP16.
inline constexpr int kCommonScales4 = 512, kCommonScales8 = 1024;   // Offset of the scales in tiles of common groups.

constexpr bool HasGroups(TileScheme scheme) {
  return scheme.code != TileCode::kHalf && (scheme.scales == TileScales::kTileGroup || scheme.scales == TileScales::kCommonGroup);
}
constexpr bool HasHeader(TileScheme scheme) { return scheme.code != TileCode::kHalf && !HasGroups(scheme); }
constexpr bool HasTileGroups(TileScheme scheme) { return HasGroups(scheme) && scheme.scales == TileScales::kTileGroup; }
constexpr int64_t HeaderBytes(TileScheme scheme) { return HasHeader(scheme) ? kHeader : 0; }

// A super-group has eight inputs of all outputs: the scales, then the codes (quant/tile_group.h).
constexpr int kSuperGroupScales = 16;
constexpr int SuperGroupSize(TileScheme scheme) { return kSuperGroupScales + 256 * BitsOf(scheme.code) / 8; }

// The place of a code. With codes of 8 bits `shift` is 0; with FP16 `byte` is the first of two bytes.
struct CodePlace { int byte; int shift; };
constexpr CodePlace PlaceOfCode(TileScheme scheme, int input, int output) {
  const bool four = BitsOf(scheme.code) == 4;
  if (scheme.code == TileCode::kHalf) return {static_cast<int>(2 * TileLayout::IndexInTile(input, output)), 0};
  if (!HasTileGroups(scheme)) return four ? CodePlace{input / 2 * 32 + output, input % 2 * 4} : CodePlace{input * 32 + output, 0};
  const int j = input % 8, pair = j / 2, half = output / 16, lane = output % 16;
  const int codes = input / 8 * SuperGroupSize(scheme) + kSuperGroupScales;
  if (!four) return {codes + 32 * (2 * pair + half) + 2 * lane + j % 2, 0};
  return {codes + 64 * half + 4 * lane + 2 * (j % 2) + pair % 2, pair / 2 * 4};
}

struct ScalePlace { bool in_header; int byte; };   // The byte within the header or the tile.
// Returns the place of a scale. REQUIRES: the code is not kHalf.
constexpr ScalePlace PlaceOfScale(TileScheme scheme, int input, int output) {
  if (HasHeader(scheme)) return {true, 2 * output};
  if (!HasTileGroups(scheme)) return {false, (BitsOf(scheme.code) == 4 ? kCommonScales4 : kCommonScales8) + 2 * output};
  return {false, input / 8 * SuperGroupSize(scheme) + 2 * (input % 8 / 2 * 2 + output / 16)};
}

// Number `i` of a run. A run in tile groups is 2 inputs x 16 outputs, else all inputs of an output.
struct RunPlace { int input; int output; };
constexpr RunPlace PlaceInRun(TileScheme scheme, int run, int i) {
  if (HasTileGroups(scheme)) return {run / 2 * 2 + i % 2, run % 2 * 16 + i / 2};
  return {i, run};
}

}  // namespace tessera::tiles
