// The formats of 256 values with looked-up codes. A code of four bits is an index into a code book, and each 16 values share a small
// integer scale under one factor. Each format's file unpacks the format's blocks (Unpack...); dequantizing and packing into panels
// (quant/internal/panels/coded.cc) start from a CodedBlock.
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

// Returns eight fields of kBits bits, the lowest first, each in a separate byte.
template <int kBits>
constexpr uint64_t SpreadToBytes(uint64_t fields) {
  fields = (fields | fields << (32 - 4 * kBits)) & 0x0000000100000001 * ((1u << 4 * kBits) - 1);
  fields = (fields | fields << (16 - 2 * kBits)) & 0x0001000100010001 * ((1u << 2 * kBits) - 1);
  return (fields | fields << (8 - kBits)) & 0x0101010101010101 * ((1u << kBits) - 1);
}

// Unpacks the eight codes of one grid entry, kBits (2 or 4) each. Bit i of `signs` becomes the top bit of code i. Packing takes most of the
// time of loading a model, so eight codes are handled at once.
template <int kBits>
void PutGridCodes(uint32_t entry, int signs, uint8_t* codes) {
  const uint64_t eight = SpreadToBytes<kBits>(entry) | SpreadToBytes<1>(static_cast<uint64_t>(signs)) << 3;
  std::memcpy(codes, &eight, sizeof eight);
}

// Returns eight signs from seven stored signs: the number of negative signs is even.
inline int EvenSigns(uint32_t seven_bits) { return static_cast<int>(seven_bits | (std::popcount(seven_bits) & 1u) << 7); }

// Unpacks `count` scales s of four bits, two per byte, the first in the low bits, as 2 s + 1. Each scale holds for an equal part of the 16
// runs.
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
