// Q3_K: 256 values around zero in 110 bytes, sixteen runs of 16 with a signed 6-bit scale each. 32 bytes of third bits, 64 bytes of low
// bits, 12 bytes of scales, an FP16 factor d. A value is d * scale * (q - 4).
//
// The low bits are in the order of Q2_K's codes. Byte i of the third bits holds the third bits of values i, i + 32, ..., i + 224.
#include "tessera/quant/internal/formats/k_search.h"

namespace tessera {
namespace {

constexpr int kBytes = 110;
constexpr KShape kShape = {.run = 16, .codes = 8, .zero = 4, .lowest_scale = -32, .highest_scale = 31};

// Bytes 0-7 hold the low four bits of scales 0-7 (low half) and 8-15 (high half); byte 8 + i has the top two bits of scales i,
// i + 4, i + 8 and i + 12. 32 stands for zero.
int8_t ScaleOfRun(const std::byte* bytes, int run) {
  const int low = run < 8 ? LowNibble(bytes[run]) : HighNibble(bytes[run - 8]);
  const int top = std::to_integer<int>(bytes[8 + run % 4]) >> run / 4 * 2 & 3;
  return static_cast<int8_t>((low | top << 4) - 32);
}

void PackQ3_K(const KBlock& block, std::byte* bytes) {
  for (int g = 0; g < 8; ++g) {
    PutBits<2>(block.codes + 32 * g, g % 4 * 2, bytes + 32 + g / 4 * 32);
    PutBits<1, 2>(block.codes + 32 * g, g, bytes);
  }
  for (int run = 0; run < 16; ++run) {
    const int scale = block.scales[run] + 32;
    bytes[96 + run % 8] |= static_cast<std::byte>((scale & 15) << run / 8 * 4);
    bytes[104 + run % 4] |= static_cast<std::byte>(scale >> 4 << run / 4 * 2);
  }
  StoreUint16(block.factor, bytes + 108);
}

}  // namespace

KBlock UnpackQ3_K(const std::byte* bytes) {
  KBlock block;
  for (int g = 0; g < 8; ++g) {
    AddBits<2>(bytes + 32 + g / 4 * 32, g % 4 * 2, block.codes + 32 * g);
    AddBits<1, 2>(bytes, g, block.codes + 32 * g);
  }
  for (int run = 0; run < 16; ++run) block.scales[run] = ScaleOfRun(bytes + 96, run);
  block.factor = LoadUint16(bytes + 108);
  return block;
}

void DequantizeQ3_K(const std::byte* blocks, int64_t values, float* out) {
  DequantizeKBlocks<UnpackQ3_K, kBytes, kShape.run, kShape.zero>(blocks, values, out);
}

void SearchQ3_K(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchKBlocks<PackQ3_K, kBytes>(kShape, in, importance, values, blocks);
}

}  // namespace tessera
