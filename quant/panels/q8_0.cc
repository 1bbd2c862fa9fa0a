#include "tessera/quant/panels/q8_0.h"

#include "tessera/quant/panels/nibble_block.h"
#include "tessera/quant/panels/registry.h"

namespace tessera::panels {
namespace {

constexpr int kGgufBlockBytes = 34;  // FP16 scale, 32 signed bytes.

void PackBlock(const std::byte* block, std::byte* group, int output) {
  std::byte* tile = group + output / kLanes * Q8_0::kTileBytes;
  for (int j = 0; j < 8; ++j) {
    uint32_t quad;
    std::memcpy(&quad, block + 2 + 4 * j, sizeof quad);
    quad ^= 0x80808080u;  // Adds 128 to each signed byte.
    std::memcpy(tile + QuadOffset(j, output % kLanes), &quad, sizeof quad);
  }
  PutHalf(block, group + 1024, output);
}

void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  ForEachBlock(gguf_rows, row_bytes, rows, in_features / 32, kGgufBlockBytes, Q8_0::kGroupBytes, panel, PackBlock);
}

void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* group = panel + k / 32 * Q8_0::kGroupBytes;
    const std::byte* tile = group + lane / kLanes * Q8_0::kTileBytes;
    const int weight = static_cast<int>(tile[QuadOffset(k % 32 / 4, lane % kLanes) + k % 4]) - 128;
    out[k] = weight * Half(group + 1024 + 2 * lane);
  }
}

}  // namespace

const PanelFormat kQ8_0 = {32, Q8_0::kGroupBytes, false, Pack, ReadRow};

}  // namespace tessera::panels
