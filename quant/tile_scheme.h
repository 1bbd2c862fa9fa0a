// The quantization of a matrix for a phone NPU's matrix unit: the meaning of the codes, and the number of weights per scale.
//
//   const TileScheme scheme = {TileCode::kInt4, TileScales::kTileGroup};
//   ASSIGN_OR_RETURN(const TileScheme same, TileSchemeByName("int4-tile"));        // TileSchemeName(scheme)
//   int64_t bytes = TileBytes(scheme);                                             // 576: 32 x 32 weights, 4.5 bits each
//
// The test-time scaling paper, sections 3 and 5.1. Weights share scales in one of four ways: patches of 2 inputs x 16 outputs of a tile
// (the paper), 32 along an output's inputs (GGUF), one per output, one per matrix. quant/tile_matrix.h holds matrices of a scheme.
// Thread-safe (plain data and pure functions).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// The numbers of the codes, before the scale.
enum class TileCode : uint8_t {
  kInt4,    // -8 to 7.
  kIq4Nl,   // As GGUF's IQ4_NL.
  kNf4,     // The quantiles of a normal distribution (QLoRA, appendix E), -1 to 1.
  kFp4,     // Floating point of 4 bits (E2M1), -6 to 6.
  kInt8,    // -127 to 127 (-128 if read from a file). Codes of 8 bits are the numbers themselves.
  kHalf,    // FP16, without codes and scales.
};
inline constexpr int kTileCodes = 6;

enum class TileScales : uint8_t {
  kTileGroup,    // 2 inputs x 16 outputs (section 5.1.1).
  kCommonGroup,  // 32 inputs of an output.
  kChannel,      // An output. The matrix unit multiplies its sums by the scales, so weights are the codes' numbers themselves.
  kTensor,       // The matrix; weights are the codes' numbers, as with kChannel.
};
inline constexpr int kTileScales = 4;

// The rounding of activation rows before a product: to FP16, or first to 8-bit or 16-bit integers times a scale of the row.
enum class TileInput : uint8_t { kHalf, kInt8, kInt16 };

struct TileScheme {
  TileCode code = TileCode::kInt4;
  TileScales scales = TileScales::kTileGroup;   // kHalf has no scales: kTileGroup, without meaning.
  TileInput input = TileInput::kHalf;
  friend bool operator==(const TileScheme&, const TileScheme&) = default;
};

constexpr int BitsOf(TileCode code) { return code == TileCode::kHalf ? 16 : code == TileCode::kInt8 ? 8 : 4; }
absl::string_view TileCodeName(TileCode code);   // "int4".

// Names: "int4-tile", "nf4-common", "int8-channel", "int4-tensor", "fp16"; rows of 8 or 16 bits: "int4-channel-a8", "-a16". NotFound, with
// the known names.
std::string TileSchemeName(TileScheme scheme);
absl::StatusOr<TileScheme> TileSchemeByName(absl::string_view name);

// Returns the bytes of a tile of 32 x 32 weights, including scales in the tile. Scales of channels and matrices are in front of the tiles.
constexpr int64_t TileBytes(TileScheme scheme) {
  const bool has_groups = scheme.scales == TileScales::kTileGroup || scheme.scales == TileScales::kCommonGroup;
  return 1024 * BitsOf(scheme.code) / 8 + (scheme.code != TileCode::kHalf && has_groups ? 64 : 0);
}

// Returns the FP16 numbers of the codes 0 to 15, for lookups by a vector unit. REQUIRES: codes of 4 bits.
const std::array<uint16_t, 16>& TileTable(TileCode code);

}  // namespace tessera
