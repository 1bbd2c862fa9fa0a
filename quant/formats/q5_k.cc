// Q5_K: 256 values in 176 bytes, as Q4_K with a fifth bit: the factors, scales and minima of Q4_K (16 bytes), 32 bytes of fifth bits
// (byte i holds those of values i, i + 32, ..., i + 224), then the 128 bytes of Q4_K's codes.
#include "tessera/quant/formats/k_search.h"

namespace tessera {
namespace {
constexpr int kBytes = 176;
constexpr KShape kShape = {.run = 32, .codes = 32, .highest_scale = 63, .highest_minimum = 63};
}  // namespace

KBlock UnpackQ5_K(const std::byte* bytes) {
  KBlock block = UnpackSixBitScales(bytes);
  for (int g = 0; g < 8; ++g) {
    AddBits<4>(bytes + 48 + g / 2 * 32, g % 2 * 4, block.codes + 32 * g);
    AddBits<1, 4>(bytes + 16, g, block.codes + 32 * g);
  }
  return block;
}

void PackQ5_K(const KBlock& block, std::byte* bytes) {
  StoreUint16(block.factor, bytes);
  StoreUint16(block.minimum_factor, bytes + 2);
  PackSixBitScales(block, bytes + 4);
  std::fill_n(bytes + 16, kBytes - 16, std::byte{0});
  for (int i = 0; i < KBlock::kValues; ++i) {
    bytes[16 + i % 32] |= static_cast<std::byte>(block.codes[i] >> 4 << i / 32);
    bytes[48 + i / 64 * 32 + i % 32] |= static_cast<std::byte>((block.codes[i] & 15) << i % 64 / 32 * 4);
  }
}

void DequantizeQ5_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ5_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void QuantizeQ5_K(const float* in, int64_t values, std::byte* blocks) {
  QuantizeKBlocks<PackQ5_K, kBytes>(kShape, in, values, blocks);
}

}  // namespace tessera
