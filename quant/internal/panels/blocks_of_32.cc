#include "tessera/quant/internal/panels/blocks_of_32.h"

#include "tessera/quant/internal/formats/formats.h"
#include "tessera/quant/internal/panels/pack_blocks.h"
#include "tessera/quant/internal/panels/registry.h"

namespace tessera::panels {
namespace {

// GGUF's blocks are alike: FP16 scale, FP16 minimum if there is one, a word of fifth bits if there are any (bit k: input k), then 16
// bytes with input k low and k + 16 high.
template <typename Format>
void Codes(const std::byte* block, uint8_t* codes) {
  constexpr bool kFifth = Format::kTileBytes > Format::kHighPlane;
  const std::byte* word = block + (Format::kHasMinimum ? 4 : 2);
  const std::byte* pairs = kFifth ? word + 4 : word;
  for (int k = 0; k < 16; k += 4) {  // Four bytes at a time: packing is most of loading a model.
    uint32_t quad;
    std::memcpy(&quad, pairs + k, sizeof quad);
    const uint32_t low = quad & 0x0f0f0f0f, high = quad >> 4 & 0x0f0f0f0f;
    std::memcpy(codes + k, &low, sizeof low);
    std::memcpy(codes + k + 16, &high, sizeof high);
  }
  if constexpr (kFifth) {
    const uint32_t fifth = LoadUint32(word);
    for (int k = 0; k < 32; ++k) codes[k] = static_cast<uint8_t>(codes[k] | (fifth >> k & 1) << 4);
  }
}

template <>
void Codes<Q8_0>(const std::byte* block, uint8_t* codes) {
  for (int k = 0; k < 32; ++k) codes[k] = std::to_integer<uint8_t>(block[2 + k] ^ std::byte{0x80});
}

template <typename Format>
void PutBlock(const std::byte* block, std::byte* group, int output) {
  uint8_t codes[32];
  Codes<Format>(block, codes);
  Format::Put(codes, group + output / kLanes * Format::kTileBytes, output % kLanes);
  StoreUint16(LoadUint16(block), group + Format::kScalesAt + 2 * output);
  if (Format::kHasMinimum) StoreUint16(LoadUint16(block + 2), group + Format::kMinimaAt + 2 * output);
}

template <typename Format>
void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (const std::byte* group = panel; in_features > 0; in_features -= 32, group += Format::kGroupBytes) {
    uint8_t codes[32];
    Format::Get(group + lane / kLanes * Format::kTileBytes, lane % kLanes, codes);
    const float scale = LoadHalf(group + Format::kScalesAt + 2 * lane);
    for (uint8_t code : codes) {
      const float value = scale * static_cast<float>(Format::ValueOf(code));
      *out++ = Format::kHasMinimum ? value + LoadHalf(group + Format::kMinimaAt + 2 * lane) : value;
    }
  }
}

template <typename Format, BlockFormat kFormat>
constexpr PanelFormat Describe() {
  return {32, Format::kGroupBytes, false, PackBlocks<Format, kFormat, PutBlock<Format>>, ReadRow<Format>};
}

}  // namespace

const PanelFormat kQ4_0 = Describe<Q4_0, BlockFormat::kQ4_0>();
const PanelFormat kQ4_1 = Describe<Q4_1, BlockFormat::kQ4_1>();
const PanelFormat kQ5_0 = Describe<Q5_0, BlockFormat::kQ5_0>();
const PanelFormat kQ5_1 = Describe<Q5_1, BlockFormat::kQ5_1>();
const PanelFormat kQ8_0 = Describe<Q8_0, BlockFormat::kQ8_0>();
const PanelFormat kIQ4_NL = Describe<IQ4_NL, BlockFormat::kIQ4_NL>();

}  // namespace tessera::panels
