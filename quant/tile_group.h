// Weights quantized for a phone NPU's matrix unit, in groups that are patches of the unit's tiles, laid out for the NPU's vector unit.
//
//   ASSIGN_OR_RETURN(const TileLayout layout, TileLayout::Of(TileOrder::kColumns, /*rows=*/k, /*columns=*/n));
//   AlignedBuffer buffer = ...                                              // TileGroupBytes(TileCode::kInt4, layout) bytes
//   RETURN_IF_ERROR(QuantizeTileGroups(TileCode::kInt4, "ffn_up.weight", weights, layout, buffer.bytes()));       // weights: [n, k]
//   DequantizeTileGroups(TileCode::kInt4, buffer.bytes(), absl::MakeSpan(halves));   // in tile order, as the matrix unit reads them
//
// The test-time scaling paper, section 5.1: weights are put into tile order (tensor/tile_layout.h) first and then quantized in runs of 32.
// So a group is a patch of 2 inputs x 16 outputs. Eight groups are a super-group, whose 256 codes of 4 bits fill one vector register. A
// super-group has 8 FP16 scales, then 128 bytes of codes (144 bytes in all; with codes of 8 bits 272). For value e, let v = e / 64 and i =
// e % 64. The value is in byte 2 i + v % 2, in the low half if v < 2. So a lookup of even bytes, then of odd bytes, gives four registers in
// tile order. A weight is FP16(table[code] * scale), rounded once.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/quant/tile_scheme.h"
#include "tessera/tensor/tensor_view.h"
#include "tessera/tensor/tile_layout.h"

namespace tessera {

inline constexpr int kTileGroup = 32, kTileGroups = 8, kSuperGroup = kTileGroup * kTileGroups;

// REQUIRES here and below: the code is not kHalf.
constexpr int64_t SuperGroupBytes(TileCode code) { return 2 * kTileGroups + kSuperGroup * BitsOf(code) / 8; }
inline int64_t TileGroupBytes(TileCode code, const TileLayout& layout) { return layout.size() / kSuperGroup * SuperGroupBytes(code); }

// Quantizes by rounding to nearest. A group's scale comes from the group's number of the largest magnitude. Each number takes the nearest
// code, of two equally near codes the lower one. Padding is zeros. weights: [outputs, inputs], as in files. InvalidArgument (name, place,
// found) for a number that is not finite, and if FP16 does not hold a number or the scale of its group. REQUIRES: layout is of kColumns,
// [inputs, outputs]; out has TileGroupBytes.
absl::Status QuantizeTileGroups(TileCode code, absl::string_view name, TensorView<const float> weights, const TileLayout& layout,
                                absl::Span<std::byte> out);

// Writes FP16 numbers in tile order. REQUIRES: groups are whole super-groups, and halves has kSuperGroup numbers for each.
void DequantizeTileGroups(TileCode code, absl::Span<const std::byte> groups, absl::Span<uint16_t> halves);

}  // namespace tessera
