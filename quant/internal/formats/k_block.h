// The K formats: blocks of 256 values with small integer scales under one or two FP16 factors. Each format's file knows the places of
// scales and factors in the format's block (Unpack..., Pack...). Dequantizing, quantizing (k_search.h) and packing into panels
// (quant/internal/panels/blocks_of_256.cc) start from a KBlock.
//
//   const KBlock block = UnpackQ4_K(bytes);       // 144 bytes
//   // Value i is factor * scales[i / run] * (codes[i] - zero) - minimum_factor * minima[i / run].
//
// run (16 or 32 values that share a scale) and zero (the code of zero) belong to the format. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

struct KBlock {
  static constexpr int kValues = 256;

  uint8_t codes[kValues] = {};
  int8_t scales[16] = {};          // One per run: 16 or 8 of them.
  uint8_t minima[16] = {};         // In formats without minima: zeros under a factor of zero.
  uint16_t factor = 0;             // FP16, as in the file.
  uint16_t minimum_factor = 0;
};

KBlock UnpackQ2_K(const std::byte* bytes);
KBlock UnpackQ3_K(const std::byte* bytes);
KBlock UnpackQ4_K(const std::byte* bytes);
KBlock UnpackQ5_K(const std::byte* bytes);
KBlock UnpackQ6_K(const std::byte* bytes);
KBlock UnpackTQ1_0(const std::byte* bytes);  // Two formats of ternary values: one run with scale 1.
KBlock UnpackTQ2_0(const std::byte* bytes);

// Adds bits of 32 codes, stored in 32 bytes: kBits from bit `from` of each byte, moved up to bit kTo.
template <int kBits, int kTo = 0>
void AddBits(const std::byte* bytes, int from, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | (std::to_integer<int>(bytes[i]) >> from & ((1 << kBits) - 1)) << kTo);
  }
}

// Adds kBits of 32 codes, from bit kFrom on, to 32 bytes, at bit `to` of each byte. The inverse of AddBits.
template <int kBits, int kFrom = 0>
void PutBits(const uint8_t* codes, int to, std::byte* bytes) {
  for (int i = 0; i < 32; ++i) bytes[i] |= static_cast<std::byte>((codes[i] >> kFrom & ((1 << kBits) - 1)) << to);
}

// Unpacks and packs the first 16 bytes of Q4_K and Q5_K: both factors, eight scales and eight minima of 6 bits. A block without codes.
KBlock UnpackSixBitScales(const std::byte* bytes);
void PackSixBitScales(const KBlock& block, std::byte* bytes);

// BlockFormatInfo::dequantize of a K format. The products are exact (11 + 6 bits of scale times the code), or rounded once if scales have 8
// bits (Q6_K, which has no minimum).
template <KBlock (*kUnpack)(const std::byte*), int kBytes, int kRun, int kZero>
void DequantizeKBlocks(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= KBlock::kValues, blocks += kBytes) {
    const KBlock block = kUnpack(blocks);
    const float factor = HalfToFloat(block.factor), minimum_factor = HalfToFloat(block.minimum_factor);
    for (int run = 0; run < KBlock::kValues / kRun; ++run) {
      const float scale = factor * static_cast<float>(block.scales[run]);
      const float minimum = minimum_factor * static_cast<float>(block.minima[run]);
      for (int i = run * kRun; i < (run + 1) * kRun; ++i) *out++ = scale * static_cast<float>(block.codes[i] - kZero) - minimum;
    }
  }
}

}  // namespace tessera
