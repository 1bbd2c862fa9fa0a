#include "tessera/quant/internal/panels/blocks_of_256.h"

#include "tessera/quant/internal/formats/k_block.h"
#include "tessera/quant/internal/panels/pack_blocks.h"
#include "tessera/quant/internal/panels/registry.h"

namespace tessera::panels {
namespace {

template <typename Format, KBlock (*kUnpack)(const std::byte*)>
void PutBlock(const std::byte* bytes, std::byte* packed, int output) {
  const KBlock block = kUnpack(bytes);
  StoreUint16(block.factor, packed + 2 * output);
  if (Format::kHasMinimum) StoreUint16(block.minimum_factor, packed + 64 + 2 * output);
  for (int g = 0; g < 8; ++g) {
    std::byte* group = packed + Format::kHeaderBytes + g * Format::kGroupBytes;
    Format::Put(block.codes + 32 * g, group + output / kLanes * Format::kTileBytes, output % kLanes);
    for (int half = 0; half < Format::kHalves; ++half) {
      const int run = g * Format::kHalves + half;
      Format::PutScale(block.scales[run], block.minima[run], group, output, half);
    }
  }
}

template <typename Format>
void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (const std::byte* header = panel; in_features > 0; in_features -= 256) {
    const float factor = LoadHalf(header + 2 * lane);
    const float minimum_factor = Format::kHasMinimum ? LoadHalf(header + 64 + 2 * lane) : 0;
    const std::byte* group = header + Format::kHeaderBytes;
    for (int g = 0; g < 8; ++g, group += Format::kGroupBytes) {
      uint8_t codes[32];
      Format::Get(group + lane / kLanes * Format::kTileBytes, lane % kLanes, codes);
      for (int k = 0; k < 32; ++k) {
        const int half = k * Format::kHalves / 32;
        const float scale = factor * static_cast<float>(Format::ScaleAt(group, lane, half));
        const float minimum = minimum_factor * static_cast<float>(Format::MinimumAt(group, lane, half));
        *out++ = scale * static_cast<float>(codes[k] - Format::kZero) - minimum;
      }
    }
    header = group;
  }
}

template <typename Format, BlockFormat kFormat, KBlock (*kUnpack)(const std::byte*)>
constexpr PanelFormat Describe() {
  return {256, Format::kHeaderBytes + 8 * Format::kGroupBytes, false, PackBlocks<Format, kFormat, PutBlock<Format, kUnpack>>,
          ReadRow<Format>};
}

}  // namespace

const PanelFormat kQ2_K = Describe<Q2_K, BlockFormat::kQ2_K, UnpackQ2_K>();
const PanelFormat kQ3_K = Describe<Q3_K, BlockFormat::kQ3_K, UnpackQ3_K>();
const PanelFormat kQ4_K = Describe<Q4_K, BlockFormat::kQ4_K, UnpackQ4_K>();
const PanelFormat kQ5_K = Describe<Q5_K, BlockFormat::kQ5_K, UnpackQ5_K>();
const PanelFormat kQ6_K = Describe<Q6_K, BlockFormat::kQ6_K, UnpackQ6_K>();
const PanelFormat kTQ1_0 = Describe<Ternary, BlockFormat::kTQ1_0, UnpackTQ1_0>();
const PanelFormat kTQ2_0 = Describe<Ternary, BlockFormat::kTQ2_0, UnpackTQ2_0>();

}  // namespace tessera::panels
