// Q4_K: 256 values in 144 bytes, eight runs of 32 with a 6-bit scale and a 6-bit minimum each. An FP16 factor d of the scales, an
// FP16 factor of the minima, 12 bytes of scales and minima, then 128 bytes of codes: 32 bytes hold two runs, the first in the low
// halves, the second in the high halves. A value is d * scale * q - factor * minimum.
#include "tessera/quant/internal/formats/k_search.h"

namespace tessera {
namespace {

constexpr int kBytes = 144;
constexpr KShape kShape = {.run = 32, .codes = 16, .highest_scale = 63, .highest_minimum = 63};

void PackQ4_K(const KBlock& block, std::byte* bytes) {
  PackSixBitScales(block, bytes);
  for (int g = 0; g < 8; ++g) PutBits<4>(block.codes + 32 * g, g % 2 * 4, bytes + 16 + g / 2 * 32);
}

}  // namespace

KBlock UnpackQ4_K(const std::byte* bytes) {
  KBlock block = UnpackSixBitScales(bytes);
  for (int g = 0; g < 8; ++g) AddBits<4>(bytes + 16 + g / 2 * 32, g % 2 * 4, block.codes + 32 * g);
  return block;
}

void DequantizeQ4_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ4_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void SearchQ4_K(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchKBlocks<PackQ4_K, kBytes>(kShape, in, importance, values, blocks);
}

}  // namespace tessera
