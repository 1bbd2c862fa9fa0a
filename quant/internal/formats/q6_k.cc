// Q6_K: 256 values around zero in 210 bytes, sixteen runs of 16 with a signed 8-bit scale each. 128 bytes of low halves, 64 bytes
// of top bits, 16 scales, an FP16 factor d. A value is d * scale * (q - 32).
//
// Each half of the block (128 values) has 64 bytes of low halves: byte i holds values i (low) and i + 64 (high). Its 32 bytes of
// top bits: byte i holds two bits for each of values i, i + 32, i + 64, i + 96.
#include "tessera/quant/internal/formats/k_search.h"

namespace tessera {
namespace {

constexpr int kBytes = 210;
constexpr KShape kShape = {.run = 16, .codes = 64, .zero = 32, .lowest_scale = -128, .highest_scale = 127};

void PackQ6_K(const KBlock& block, std::byte* bytes) {
  for (int g = 0; g < 8; ++g) {
    PutBits<4>(block.codes + 32 * g, g % 4 / 2 * 4, bytes + g / 4 * 64 + g % 2 * 32);
    PutBits<2, 4>(block.codes + 32 * g, g % 4 * 2, bytes + 128 + g / 4 * 32);
  }
  for (int run = 0; run < 16; ++run) bytes[192 + run] = static_cast<std::byte>(block.scales[run]);
  StoreUint16(block.factor, bytes + 208);
}

}  // namespace

KBlock UnpackQ6_K(const std::byte* bytes) {
  KBlock block;
  for (int g = 0; g < 8; ++g) {
    AddBits<4>(bytes + g / 4 * 64 + g % 2 * 32, g % 4 / 2 * 4, block.codes + 32 * g);
    AddBits<2, 4>(bytes + 128 + g / 4 * 32, g % 4 * 2, block.codes + 32 * g);
  }
  for (int run = 0; run < 16; ++run) block.scales[run] = static_cast<int8_t>(bytes[192 + run]);
  block.factor = LoadUint16(bytes + 208);
  return block;
}

void DequantizeQ6_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ6_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void SearchQ6_K(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchKBlocks<PackQ6_K, kBytes>(kShape, in, importance, values, blocks);
}

}  // namespace tessera
