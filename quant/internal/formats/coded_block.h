// The formats of 256 values whose codes are looked up: a code of four bits stands for a number of a code book, and each 16 values share a
// small integer scale under one factor. Each of their files takes the file's block apart (Unpack...); dequantizing and packing into
// panels (quant/internal/panels/coded.cc) start from here.
//
//   const CodedBlock block = UnpackIQ2_XS(bytes);       // 74 bytes
//   // Value i is factor * scales[i / 16] * kIq2Codebook[codes[i]], exact in FP32.
//
// Thread-safe (pure functions).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

struct CodedBlock {
  static constexpr int kValues = 256, kRun = 16;

  uint8_t codes[kValues];
  int8_t scales[kValues / kRun];
  float factor;
};

CodedBlock UnpackIQ1_S(const std::byte* bytes);
CodedBlock UnpackIQ1_M(const std::byte* bytes);
CodedBlock UnpackIQ2_XXS(const std::byte* bytes);
CodedBlock UnpackIQ2_XS(const std::byte* bytes);
CodedBlock UnpackIQ2_S(const std::byte* bytes);
CodedBlock UnpackIQ3_XXS(const std::byte* bytes);
CodedBlock UnpackIQ3_S(const std::byte* bytes);
CodedBlock UnpackIQ4_XS(const std::byte* bytes);

// Eight codes of an entry of a grid: `bits` (2 or 4) bits each; `signs` has a bit for each, which becomes the code's highest.
inline void PutGridCodes(uint32_t entry, int bits, int signs, uint8_t* codes) {
  for (int i = 0; i < 8; ++i) {
    codes[i] = static_cast<uint8_t>((entry >> bits * i & ((1u << bits) - 1)) | static_cast<uint32_t>(signs >> i & 1) << 3);
  }
}

// Eight signs of which seven are stored: negative ones are even in number.
inline int EvenSigns(uint32_t seven_bits) { return static_cast<int>(seven_bits | (std::popcount(seven_bits) & 1u) << 7); }

// `count` scales s of four bits, two per byte, the first one low, as 2 s + 1; each holds for an equal part of the 16 runs.
inline void PutOddScales(const std::byte* bytes, int count, int8_t* scales) {
  for (int run = 0; run < 16; ++run) {
    const int at = run * count / 16;
    const int scale = at % 2 == 0 ? LowNibble(bytes[at / 2]) : HighNibble(bytes[at / 2]);
    scales[run] = static_cast<int8_t>(2 * scale + 1);
  }
}

// BlockFormatInfo::dequantize. The products are exact: 11 bits of factor, at most 6 of scale and 7 of number.
template <CodedBlock (*kUnpack)(const std::byte*), int kBytes>
void DequantizeCodedBlocks(const Codebook& numbers, const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= CodedBlock::kValues, blocks += kBytes) {
    const CodedBlock block = kUnpack(blocks);
    for (int i = 0; i < CodedBlock::kValues; ++i) {
      const float scale = block.factor * static_cast<float>(block.scales[i / CodedBlock::kRun]);
      *out++ = scale * static_cast<float>(numbers[block.codes[i]]);
    }
  }
}

}  // namespace tessera
