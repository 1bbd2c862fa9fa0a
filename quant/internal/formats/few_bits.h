// T2 and T3: 32 values under an FP16 scale, with codes of two or three bits for numbers of a code book. No GGUF file has these formats.
// Both formats are for models whose rows are no multiples of 256; the K formats would need such multiples. Quantizing, dequantizing (t2.cc,
// t3.cc) and packing into panels (quant/internal/panels/blocks_of_32.cc) share the bit layout.
//
//   uint8_t codes[32];
//   UnpackFewBits<3>(block, codes);                  // 14 bytes
//   // Value i is LoadHalf(block) * kT3Codebook[codes[i]], one rounding.
//
// A block is the scale, then eight bytes of low bits. Byte i has the low bits of values i, i + 8, i + 16 and i + 24, the first one lowest.
// With three bits, a word of the third bits follows (bit i: value i). Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/internal/formats/codebook_search.h"

namespace tessera {

template <int kBits>
constexpr int kFewBitsBytes = 2 + CodebookBlock::kValues * kBits / 8;

template <int kBits>
void UnpackFewBits(const std::byte* block, uint8_t* codes) {
  static_assert(kBits == 2 || kBits == 3);
  const std::byte* low = block + 2;
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(std::to_integer<int>(low[i % 8]) >> i / 8 * 2 & 3);
  if constexpr (kBits == 3) {
    const uint32_t third = LoadUint32(low + 8);
    for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(codes[i] | (third >> i & 1) << 2);
  }
}

template <int kBits>
void PackFewBits(const CodebookBlock& found, std::byte* block) {
  StoreUint16(found.scale, block);
  std::byte* low = block + 2;
  for (int i = 0; i < 8; ++i) {
    int byte = 0;
    for (int part = 0; part < 4; ++part) byte |= (found.codes[i + 8 * part] & 3) << 2 * part;
    low[i] = static_cast<std::byte>(byte);
  }
  if constexpr (kBits == 3) {
    uint32_t third = 0;
    for (int i = 0; i < 32; ++i) third |= static_cast<uint32_t>(found.codes[i] >> 2) << i;
    StoreUint32(third, low + 8);
  }
}

// BlockFormatInfo::dequantize and ::search.
template <const Codebook& kNumbers, int kBits>
void DequantizeFewBits(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= CodebookBlock::kValues, blocks += kFewBitsBytes<kBits>) {
    uint8_t codes[CodebookBlock::kValues];
    UnpackFewBits<kBits>(blocks, codes);
    const float d = LoadHalf(blocks);
    for (const uint8_t code : codes) *out++ = d * static_cast<float>(kNumbers[code]);
  }
}

template <const Codebook& kNumbers, int kBits>
void SearchFewBits(absl::Span<const float> ends, const float* in, const float* importance, int64_t values, std::byte* blocks) {
  for (int64_t i = 0; i < values; i += CodebookBlock::kValues, blocks += kFewBitsBytes<kBits>) {
    PackFewBits<kBits>(SearchCodebook<kNumbers, kBits>(ends, in + i, importance == nullptr ? nullptr : importance + i), blocks);
  }
}

}  // namespace tessera
