// The packing steps that formats share: walk the blocks of up to 32 rows, move nibbles, move halves. Packing happens once, on load or
// in a tool, so this is plain code without vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/quant/panels/block_bytes.h"

namespace tessera::panels {

// Calls put(gguf block, panel block, output) for every block of every row, along the panel's stream; outputs without a row stay zero.
template <typename Put>
void ForEachBlock(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t blocks, int gguf_block_bytes,
                  int panel_block_bytes, std::byte* panel, Put put) {
  for (int64_t block = 0; block < blocks; ++block) {
    std::byte* packed = panel + block * panel_block_bytes;
    std::memset(packed, 0, panel_block_bytes);
    for (int output = 0; output < rows; ++output) {
      put(gguf_rows + output * row_bytes + block * gguf_block_bytes, packed, output);
    }
  }
}

// Sixteen bytes whose byte k holds inputs k (low) and k + 16 (high): four words, one per pair of quads.
inline void PutNibbles(const std::byte* nibbles, std::byte* group, int output) {
  std::byte* tile = group + output / kLanes * 256;
  for (int j = 0; j < 4; ++j) std::memcpy(tile + QuadOffset(j, output % kLanes), nibbles + 4 * j, 4);
}

inline int NibbleAt(const std::byte* group, int output, int k) {
  const std::byte* tile = group + output / kLanes * 256;
  const int byte = static_cast<int>(tile[QuadOffset(k / 4 % 4, output % kLanes) + k % 4]);
  return k < 16 ? byte & 15 : byte >> 4;
}

// One FP16 of a row of 32 of them.
inline void PutHalf(const std::byte* half, std::byte* halves, int output) { std::memcpy(halves + 2 * output, half, 2); }

}  // namespace tessera::panels
