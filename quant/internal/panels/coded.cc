#include "tessera/quant/internal/panels/coded.h"

#include "tessera/quant/internal/formats/coded_block.h"
#include "tessera/quant/internal/formats/fp4_group.h"
#include "tessera/quant/internal/panels/pack_blocks.h"
#include "tessera/quant/internal/panels/registry.h"

namespace tessera::panels {
namespace {

template <CodedBlock (*kUnpack)(const std::byte*), const Codebook& kNumbers>
void PutCodedBlock(const std::byte* bytes, std::byte* packed, int output) {
  static constexpr UnsignedCodebook kTable = ShiftedBy128(kNumbers);
  const CodedBlock block = kUnpack(bytes);
  std::memcpy(packed + 4 * output, &block.factor, sizeof block.factor);
  std::memcpy(packed + Coded256::kTableAt, kTable.data(), sizeof kTable);
  for (int g = 0; g < Coded256::kGroups; ++g) {
    std::byte* group = packed + Coded256::kHeaderBytes + g * Coded256::kGroupBytes;
    Coded256::Put(block.codes + 32 * g, group + output / kLanes * Coded256::kTileBytes, output % kLanes);
    for (int half = 0; half < 2; ++half) {
      group[Coded256::kScalesAt + 32 * half + output] = static_cast<std::byte>(block.scales[2 * g + half]);
    }
  }
}

void ReadCodedRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (const std::byte* header = panel; in_features > 0; in_features -= CodedBlock::kValues) {
    float factor;
    std::memcpy(&factor, header + 4 * lane, sizeof factor);
    const std::byte* group = header + Coded256::kHeaderBytes;
    for (int g = 0; g < Coded256::kGroups; ++g, group += Coded256::kGroupBytes) {
      uint8_t codes[32];
      Coded256::Get(group + lane / kLanes * Coded256::kTileBytes, lane % kLanes, codes);
      for (int k = 0; k < 32; ++k) {
        const int scale = static_cast<int8_t>(group[Coded256::kScalesAt + 32 * (k / 16) + lane]);
        const int number = std::to_integer<int>(header[Coded256::kTableAt + codes[k]]) - Coded256::kZero;
        *out++ = factor * static_cast<float>(scale) * static_cast<float>(number);
      }
    }
    header = group;
  }
}

template <BlockFormat kFormat, CodedBlock (*kUnpack)(const std::byte*), const Codebook& kNumbers>
constexpr PanelFormat Describe() {
  return {256, PackedBytes<Coded256>(256), false, PackBlocks<Coded256, kFormat, PutCodedBlock<kUnpack, kNumbers>>, ReadCodedRow};
}

void PutFp4Group(const Fp4Group& unpacked, std::byte* group, int output) {
  Fp4::Put(unpacked.codes, group + output / kLanes * Fp4::kTileBytes, output % kLanes);
  for (int half = 0; half < 2; ++half) StoreUint16(unpacked.scales[half], group + Fp4::kScalesAt + 64 * half + 2 * output);
}

void PutMXFP4(const std::byte* bytes, std::byte* packed, int output) { PutFp4Group(UnpackMXFP4(bytes), packed, output); }

void PutNVFP4(const std::byte* bytes, std::byte* packed, int output) {
  for (int group = 0; group < 2; ++group) PutFp4Group(UnpackNVFP4(bytes, group), packed + group * Fp4::kGroupBytes, output);
}

void ReadFp4Row(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (const std::byte* group = panel; in_features > 0; in_features -= 32, group += Fp4::kGroupBytes, out += 32) {
    Fp4Group packed;
    Fp4::Get(group + lane / kLanes * Fp4::kTileBytes, lane % kLanes, packed.codes);
    for (int half = 0; half < 2; ++half) packed.scales[half] = LoadUint16(group + Fp4::kScalesAt + 64 * half + 2 * lane);
    DequantizeFp4Group(packed, out);
  }
}

template <BlockFormat kFormat, int kValues, void (*kPut)(const std::byte*, std::byte*, int)>
constexpr PanelFormat DescribeFp4() {
  return {kValues, PackedBytes<Fp4>(kValues), false, PackBlocks<Fp4, kFormat, kPut>, ReadFp4Row};
}

}  // namespace

const PanelFormat kIQ1_S = Describe<BlockFormat::kIQ1_S, UnpackIQ1_S, kIq1Codebook>();
const PanelFormat kIQ1_M = Describe<BlockFormat::kIQ1_M, UnpackIQ1_M, kIq1Codebook>();
const PanelFormat kIQ2_XXS = Describe<BlockFormat::kIQ2_XXS, UnpackIQ2_XXS, kIq2Codebook>();
const PanelFormat kIQ2_XS = Describe<BlockFormat::kIQ2_XS, UnpackIQ2_XS, kIq2Codebook>();
const PanelFormat kIQ2_S = Describe<BlockFormat::kIQ2_S, UnpackIQ2_S, kIq2Codebook>();
const PanelFormat kIQ3_XXS = Describe<BlockFormat::kIQ3_XXS, UnpackIQ3_XXS, kIq3XxsCodebook>();
const PanelFormat kIQ3_S = Describe<BlockFormat::kIQ3_S, UnpackIQ3_S, kIq3SCodebook>();
const PanelFormat kIQ4_XS = Describe<BlockFormat::kIQ4_XS, UnpackIQ4_XS, kIq4NlCodebook>();
const PanelFormat kMXFP4 = DescribeFp4<BlockFormat::kMXFP4, 32, PutMXFP4>();
const PanelFormat kNVFP4 = DescribeFp4<BlockFormat::kNVFP4, 64, PutNVFP4>();

}  // namespace tessera::panels
