#include "tessera/quant/panels/q4_1.h"

#include "tessera/quant/panels/nibble_block.h"
#include "tessera/quant/panels/registry.h"

namespace tessera::panels {
namespace {

constexpr int kGgufBlockBytes = 20;  // FP16 scale, FP16 minimum, 16 bytes of nibbles.

void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  ForEachBlock(gguf_rows, row_bytes, rows, in_features / 32, kGgufBlockBytes, Q4_1::kGroupBytes, panel,
               [](const std::byte* block, std::byte* group, int output) {
                 PutNibbles(block + 4, group, output);
                 PutHalf(block, group + 512, output);
                 PutHalf(block + 2, group + 576, output);
               });
}

void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* group = panel + k / 32 * Q4_1::kGroupBytes;
    out[k] = NibbleAt(group, lane, k % 32) * Half(group + 512 + 2 * lane) + Half(group + 576 + 2 * lane);
  }
}

}  // namespace

const PanelFormat kQ4_1 = {32, Q4_1::kGroupBytes, false, Pack, ReadRow};

}  // namespace tessera::panels
