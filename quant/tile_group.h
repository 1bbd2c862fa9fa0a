// Weights quantized for a phone NPU's matrix unit: in groups that are patches of its tiles, laid out for its vector unit.
//
//   ASSIGN_OR_RETURN(const TileLayout layout, TileLayout::Of(TileOrder::kColumns, /*rows=*/k, /*columns=*/n));
//   AlignedBuffer buffer = ...                                              // TileGroupBytes(TileCode::kInt4, layout) bytes
//   RETURN_IF_ERROR(QuantizeTileGroups(TileCode::kInt4, "ffn_up.weight", weights, layout, buffer.bytes()));       // weights: [n, k]
//   DequantizeTileGroups(TileCode::kInt4, buffer.bytes(), absl::MakeSpan(halves));   // in tile order, as the matrix unit reads them
//
// Paper 001, section 5.1: weights are put into tile order (tensor/tile_layout.h) first and then quantized in runs of 32, so that a group
// is a patch of 2 inputs x 16 outputs. Eight groups are a super-group, whose 256 codes of 4 bits fill one vector register: 8 FP16 scales,
// then 128 bytes (144 bytes; with codes of 8 bits 272). Value e lies, with v = e / 64 and i = e % 64, in byte 2 i + v % 2, in its low half
// if v < 2: a lookup of even bytes, then of odd ones, gives four registers in tile order. A weight is FP16(table[code] * scale), rounded
// once. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/tensor/tensor_view.h"
#include "tessera/tensor/tile_layout.h"

namespace tessera {

inline constexpr int kTileGroup = 32, kTileGroups = 8, kSuperGroup = kTileGroup * kTileGroups;

// What codes stand for, times the scale of their group.
enum class TileCode : uint8_t {
  kInt4,    // -8 to 7.
  kIq4Nl,   // As GGUF's IQ4_NL.
  kNf4,     // The quantiles of a normal distribution (QLoRA, appendix E), -1 to 1.
  kFp4,     // Floating point of 4 bits (E2M1), -6 to 6.
  kInt8,    // -127 to 127. Codes of 8 bits are numbers themselves.
};
inline constexpr int kTileCodes = 5;

constexpr int BitsOf(TileCode code) { return code == TileCode::kInt8 ? 8 : 4; }
constexpr int64_t SuperGroupBytes(TileCode code) { return 2 * kTileGroups + kSuperGroup * BitsOf(code) / 8; }
absl::string_view TileCodeName(TileCode code);   // "int4".

// The FP16 numbers of the codes 0 to 15, as a vector unit looks them up. REQUIRES: codes of 4 bits.
const std::array<uint16_t, 16>& TileTable(TileCode code);

inline int64_t TileGroupBytes(TileCode code, const TileLayout& layout) { return layout.size() / kSuperGroup * SuperGroupBytes(code); }

// Round to nearest: a group's scale comes from its number of the largest magnitude, and each number takes the code nearest to it, of two
// equally near the lower one. Padding is zeros. weights: [outputs, inputs], as files have them. InvalidArgument (name, place, found) for a
// number that is not finite or whose group has a scale beyond FP16. REQUIRES: layout is of kColumns, [inputs, outputs]; out has
// TileGroupBytes.
absl::Status QuantizeTileGroups(TileCode code, absl::string_view name, TensorView<const float> weights, const TileLayout& layout,
                                absl::Span<std::byte> out);

// FP16 numbers in tile order. REQUIRES: groups are whole super-groups, and halves has kSuperGroup numbers for each.
void DequantizeTileGroups(TileCode code, absl::Span<const std::byte> groups, absl::Span<uint16_t> halves);

}  // namespace tessera
