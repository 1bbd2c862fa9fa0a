// Q5_K: 256 values in 176 bytes, as Q4_K with a fifth bit: the factors, scales and minima of Q4_K (16 bytes), 32 bytes of fifth bits
// (byte i holds those of values i, i + 32, ..., i + 224), then the 128 bytes of Q4_K's codes.
#include "tessera/quant/internal/formats/k_search.h"

namespace tessera {
namespace {

constexpr int kBytes = 176;
constexpr KShape kShape = {.run = 32, .codes = 32, .highest_scale = 63, .highest_minimum = 63};

void PackQ5_K(const KBlock& block, std::byte* bytes) {
  PackSixBitScales(block, bytes);
  for (int g = 0; g < 8; ++g) {
    PutBits<4>(block.codes + 32 * g, g % 2 * 4, bytes + 48 + g / 2 * 32);
    PutBits<1, 4>(block.codes + 32 * g, g, bytes + 16);
  }
}

}  // namespace

KBlock UnpackQ5_K(const std::byte* bytes) {
  KBlock block = UnpackSixBitScales(bytes);
  for (int g = 0; g < 8; ++g) {
    AddBits<4>(bytes + 48 + g / 2 * 32, g % 2 * 4, block.codes + 32 * g);
    AddBits<1, 4>(bytes + 16, g, block.codes + 32 * g);
  }
  return block;
}

void DequantizeQ5_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ5_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void SearchQ5_K(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchKBlocks<PackQ5_K, kBytes>(kShape, in, importance, values, blocks);
}

}  // namespace tessera
