#include "tessera/quant/internal/panels/floats.h"

#include <cstring>

#include "tessera/quant/internal/panels/registry.h"

namespace tessera::panels {
namespace {

template <int kBytes>
void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  constexpr int kOutputs = PanelFormat::kOutputs;
  std::memset(panel, 0, in_features * kOutputs * kBytes);
  for (int output = 0; output < rows; ++output) {
    const std::byte* row = gguf_rows + output * row_bytes;
    for (int64_t k = 0; k < in_features; ++k) {
      std::memcpy(panel + (k * kOutputs + output) * kBytes, row + k * kBytes, kBytes);
    }
  }
}

template <BlockFormat kFormat, int kBytes>
void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  const BlockFormatInfo& format = InfoOf(kFormat);
  for (int64_t k = 0; k < in_features; ++k) {
    format.dequantize(panel + (k * PanelFormat::kOutputs + lane) * kBytes, 1, out + k);
  }
}

}  // namespace

const PanelFormat kF32 = {1, 128, true, Pack<4>, ReadRow<BlockFormat::kF32, 4>};
const PanelFormat kF16 = {1, 64, true, Pack<2>, ReadRow<BlockFormat::kF16, 2>};
const PanelFormat kBF16 = {1, 64, true, Pack<2>, ReadRow<BlockFormat::kBF16, 2>};

}  // namespace tessera::panels
