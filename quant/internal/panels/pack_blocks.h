// The shared walk of packing: every block of every row, along the panel's stream. Packing happens once, on load or in a tool, so the code
// is plain, without vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera::panels {

// Returns the packed bytes of a GGUF block for 32 outputs.
template <typename Format>
constexpr int PackedBytes(int values_per_block) {
  return values_per_block / (32 * Format::kGroups) * (Format::kHeaderBytes + Format::kGroups * Format::kGroupBytes);
}

// PanelFormat::pack. kPut moves one output's GGUF block into the panel's block or blocks of the same inputs. The panel's blocks are zeroed
// before, so outputs without a row are zeros.
template <typename Format, BlockFormat kFormat, void (*kPut)(const std::byte* block, std::byte* packed, int output)>
void PackBlocks(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  const BlockFormatInfo& info = InfoOf(kFormat);
  const int64_t packed_bytes = PackedBytes<Format>(info.values_per_block);
  for (int64_t block = 0; block < in_features / info.values_per_block; ++block) {
    std::byte* packed = panel + block * packed_bytes;
    std::memset(packed, 0, packed_bytes);
    for (int output = 0; output < rows; ++output) {
      kPut(gguf_rows + output * row_bytes + block * info.bytes_per_block, packed, output);
    }
  }
}

}  // namespace tessera::panels
