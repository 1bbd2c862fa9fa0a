#include "tessera/quant/internal/panels/blocks_of_32.h"

#include "tessera/quant/internal/formats/few_bits.h"
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

template <>
void Codes<T2>(const std::byte* block, uint8_t* codes) {
  UnpackFewBits<2>(block, codes);
}

template <>
void Codes<T3>(const std::byte* block, uint8_t* codes) {
  UnpackFewBits<3>(block, codes);
}

template <typename Format>
void PutBlock(const std::byte* block, std::byte* group, int output) {
  uint8_t codes[32];
  Codes<Format>(block, codes);
  Format::Put(codes, group + output / kLanes * Format::kTileBytes, output % kLanes);
  StoreUint16(LoadUint16(block), group + Format::kScalesAt + 2 * output);
  if (Format::kHasMinimum) StoreUint16(LoadUint16(block + 2), group + Format::kMinimaAt + 2 * output);
}

// GGUF blocks of several times 32 values with one scale: the bits of each code, in the order of the inputs, stand in a byte that begins
// with the first one. kFirst: the code of Q4_0 that code 0 becomes; kStep: from one code to the next.
template <int kValues, int kBits, int kFirst, int kStep>
void PutAsQ4_0(const std::byte* block, std::byte* packed, int output) {
  constexpr int kPerByte = 8 / kBits;
  for (int first = 0; first < kValues; first += 32, packed += Q4_0::kGroupBytes) {
    uint8_t codes[32];
    for (int i = 0; i < 32; ++i) {
      const int byte = std::to_integer<int>(block[2 + (first + i) / kPerByte]);
      codes[i] = static_cast<uint8_t>(kFirst + kStep * (byte >> i % kPerByte * kBits & ((1 << kBits) - 1)));
    }
    Q4_0::Put(codes, packed + output / kLanes * Q4_0::kTileBytes, output % kLanes);
    StoreUint16(LoadUint16(block), packed + Q4_0::kScalesAt + 2 * output);
  }
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

template <typename Format, BlockFormat kFormat, int kValues = 32, void (*kPut)(const std::byte*, std::byte*, int) = PutBlock<Format>>
constexpr PanelFormat Describe() {
  return {kValues, PackedBytes<Format>(kValues), false, PackBlocks<Format, kFormat, kPut>, ReadRow<Format>};
}

}  // namespace

const PanelFormat kQ4_0 = Describe<Q4_0, BlockFormat::kQ4_0>();
const PanelFormat kQ4_1 = Describe<Q4_1, BlockFormat::kQ4_1>();
const PanelFormat kQ5_0 = Describe<Q5_0, BlockFormat::kQ5_0>();
const PanelFormat kQ5_1 = Describe<Q5_1, BlockFormat::kQ5_1>();
const PanelFormat kQ8_0 = Describe<Q8_0, BlockFormat::kQ8_0>();
const PanelFormat kIQ4_NL = Describe<IQ4_NL, BlockFormat::kIQ4_NL>();
const PanelFormat kQ1_0 = Describe<Q4_0, BlockFormat::kQ1_0, 128, PutAsQ4_0<128, 1, /*kFirst=*/7, /*kStep=*/2>>();
const PanelFormat kQ2_0 = Describe<Q4_0, BlockFormat::kQ2_0, 64, PutAsQ4_0<64, 2, /*kFirst=*/7, /*kStep=*/1>>();
const PanelFormat kT2 = Describe<T2, BlockFormat::kT2>();
const PanelFormat kT3 = Describe<T3, BlockFormat::kT3>();

}  // namespace tessera::panels
