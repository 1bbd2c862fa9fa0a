#include "tessera/quant/panels/q5_0.h"

#include "tessera/quant/panels/nibble_block.h"
#include "tessera/quant/panels/registry.h"

namespace tessera::panels {
namespace {

constexpr int kGgufBlockBytes = 22;  // FP16 scale, 32 fifth bits (bit k of a word: input k), 16 bytes of nibbles.

std::byte* TileOf(std::byte* group, int output) { return group + output / kLanes * Q5_0::kTileBytes; }

void PackBlock(const std::byte* block, std::byte* group, int output) {
  std::byte* tile = TileOf(group, output);
  const int lane = output % kLanes;
  uint32_t fifth_bits;
  std::memcpy(&fifth_bits, block + 2, sizeof fifth_bits);
  for (int j = 0; j < 4; ++j) std::memcpy(tile + QuadOffset(j, lane), block + 6 + 4 * j, 4);
  uint8_t planes[4] = {};  // planes[i]: element i of each quad, bit j for quad j.
  for (int k = 0; k < 32; ++k) planes[k % 4] |= ((fifth_bits >> k) & 1) << (k / 4);
  std::memcpy(tile + 256 + 4 * lane, planes, sizeof planes);
  PutHalf(block, group + 640, output);
}

void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  ForEachBlock(gguf_rows, row_bytes, rows, in_features / 32, kGgufBlockBytes, Q5_0::kGroupBytes, panel, PackBlock);
}

void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* group = panel + k / 32 * Q5_0::kGroupBytes;
    const std::byte* tile = group + lane / kLanes * Q5_0::kTileBytes;
    const int input = k % 32, byte = static_cast<int>(tile[QuadOffset(input / 4 % 4, lane % kLanes) + input % 4]);
    const int fifth = static_cast<int>(tile[256 + 4 * (lane % kLanes) + input % 4]) >> (input / 4) & 1;
    out[k] = ((input < 16 ? byte & 15 : byte >> 4) + 16 * fifth - 16) * Half(group + 640 + 2 * lane);
  }
}

}  // namespace

const PanelFormat kQ5_0 = {32, Q5_0::kGroupBytes, false, Pack, ReadRow};

}  // namespace tessera::panels
