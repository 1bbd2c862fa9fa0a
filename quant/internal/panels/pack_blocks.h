// The walk that packing shares: every block of every row, along the panel's stream. Packing happens once, on load or in a tool, so it
// is plain code without vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera::panels {

// PanelFormat::pack. kPut moves one output's GGUF block into a panel's block, which was zero: so are outputs without a row.
template <typename Format, BlockFormat kFormat, void (*kPut)(const std::byte* block, std::byte* packed, int output)>
void PackBlocks(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  constexpr int kPackedBytes = Format::kHeaderBytes + Format::kGroups * Format::kGroupBytes;
  const BlockFormatInfo& info = InfoOf(kFormat);
  for (int64_t block = 0; block < in_features / info.values_per_block; ++block) {
    std::byte* packed = panel + block * kPackedBytes;
    std::memset(packed, 0, kPackedBytes);
    for (int output = 0; output < rows; ++output) {
      kPut(gguf_rows + output * row_bytes + block * info.bytes_per_block, packed, output);
    }
  }
}

}  // namespace tessera::panels
