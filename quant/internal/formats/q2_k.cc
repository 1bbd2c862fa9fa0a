// Q2_K: 256 values in 84 bytes, sixteen runs of 16 with a 4-bit scale and a 4-bit minimum each. 16 bytes of scales (low half) and
// minima (high half), 64 bytes of codes, an FP16 factor d of the scales, an FP16 factor of the minima. A value is
// d * scale * q - factor * minimum.
//
// Each half of the block (128 values) has 32 bytes of codes: byte i holds two bits for each of values i, i + 32, i + 64, i + 96.
#include "tessera/quant/internal/formats/k_search.h"

namespace tessera {
namespace {

constexpr int kBytes = 84;
constexpr KShape kShape = {.run = 16, .codes = 4, .highest_scale = 15, .highest_minimum = 15};

void PackQ2_K(const KBlock& block, std::byte* bytes) {
  for (int run = 0; run < 16; ++run) bytes[run] = static_cast<std::byte>(block.scales[run] | block.minima[run] << 4);
  for (int g = 0; g < 8; ++g) PutBits<2>(block.codes + 32 * g, g % 4 * 2, bytes + 16 + g / 4 * 32);
  StoreUint16(block.factor, bytes + 80);
  StoreUint16(block.minimum_factor, bytes + 82);
}

}  // namespace

KBlock UnpackQ2_K(const std::byte* bytes) {
  KBlock block;
  for (int run = 0; run < 16; ++run) {
    block.scales[run] = static_cast<int8_t>(LowNibble(bytes[run]));
    block.minima[run] = static_cast<uint8_t>(HighNibble(bytes[run]));
  }
  for (int g = 0; g < 8; ++g) AddBits<2>(bytes + 16 + g / 4 * 32, g % 4 * 2, block.codes + 32 * g);
  block.factor = LoadUint16(bytes + 80);
  block.minimum_factor = LoadUint16(bytes + 82);
  return block;
}

void DequantizeQ2_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ2_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void SearchQ2_K(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchKBlocks<PackQ2_K, kBytes>(kShape, in, importance, values, blocks);
}

}  // namespace tessera
