#include "tessera/quant/panels/q6_k.h"

#include "tessera/quant/panels/nibble_block.h"
#include "tessera/quant/panels/registry.h"

namespace tessera::panels {
namespace {

// GGUF's block of 256: 128 bytes of low nibbles, 64 bytes of top bits, 16 signed scales (one per 16 inputs), FP16 scale.
constexpr int kGgufBlockBytes = 210, kBlockBytes = Q6_K::kHeaderBytes + 8 * Q6_K::kGroupBytes;

// Weight k of a GGUF block, 0..63. Each half of 128 inputs keeps inputs l, l+32 in the low and l+64, l+96 in the high nibbles of its
// 64 bytes, and all four pairs of top bits of input l in one byte.
unsigned WeightAt(const std::byte* block, int k) {
  const int half = k / 128, quarter = k % 128 / 32, l = k % 32;
  const unsigned low = static_cast<unsigned>(block[64 * half + 32 * (quarter % 2) + l]) >> (4 * (quarter / 2)) & 15;
  const unsigned top = static_cast<unsigned>(block[128 + 32 * half + l]) >> (2 * quarter) & 3;
  return low | top << 4;
}

void PackBlock(const std::byte* block, std::byte* packed, int output) {
  PutHalf(block + 208, packed, output);
  const int lane = output % kLanes;
  for (int g = 0; g < 8; ++g) {
    std::byte* group = packed + Q6_K::kHeaderBytes + g * Q6_K::kGroupBytes;
    std::byte* tile = group + output / kLanes * Q6_K::kTileBytes;
    for (int k = 0; k < 32; ++k) {
      const unsigned weight = WeightAt(block, 32 * g + k);
      const int j = k / 4, i = k % 4;
      tile[QuadOffset(j % 4, lane) + i] |= static_cast<std::byte>((weight & 15) << (j < 4 ? 0 : 4));
      tile[256 + QuadOffset(j / 4, lane) + i] |= static_cast<std::byte>((weight >> 4) << (2 * (j % 4)));
    }
    group[768 + output] = block[192 + 2 * g];
    group[800 + output] = block[192 + 2 * g + 1];
  }
}

void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  ForEachBlock(gguf_rows, row_bytes, rows, in_features / 256, kGgufBlockBytes, kBlockBytes, panel, PackBlock);
}

void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* header = panel + k / 256 * kBlockBytes;
    const std::byte* group = header + Q6_K::kHeaderBytes + k % 256 / 32 * Q6_K::kGroupBytes;
    const std::byte* tile = group + lane / kLanes * Q6_K::kTileBytes;
    const int input = k % 32, j = input / 4, i = input % 4, l = lane % kLanes;
    const unsigned low = static_cast<unsigned>(tile[QuadOffset(j % 4, l) + i]) >> (j < 4 ? 0 : 4) & 15;
    const unsigned top = static_cast<unsigned>(tile[256 + QuadOffset(j / 4, l) + i]) >> (2 * (j % 4)) & 3;
    const int8_t scale = static_cast<int8_t>(group[768 + 32 * (input / 16) + lane]);
    out[k] = Half(header + 2 * lane) * scale * (static_cast<int>(low | top << 4) - 32);
  }
}

}  // namespace

const PanelFormat kQ6_K = {256, kBlockBytes, false, Pack, ReadRow};

}  // namespace tessera::panels
