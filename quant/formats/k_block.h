// The K formats: blocks of 256 values, whose scales are small integers under one or two FP16 factors. Each of their files says
// where in the file's block these lie (Unpack...); dequantizing and packing into panels (quant/panels/k_formats.cc) start from here.
//
//   KBlock block;
//   UnpackQ4_K(bytes, &block);       // 144 bytes
//   // Value i is factor * scales[i / run] * (codes[i] - zero) - minimum_factor * minima[i / run].
//
// run (16 or 32 values that share a scale) and zero (the code of zero) belong to the format. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/formats/formats.h"

namespace tessera {

struct KBlock {
  static constexpr int kValues = 256;

  uint8_t codes[kValues];
  int8_t scales[16];               // One a run: 16 or 8 of them.
  uint8_t minima[16] = {};         // In formats without minima: zeros under a factor of zero.
  uint16_t factor;                 // FP16, as in the file.
  uint16_t minimum_factor = 0;
};

void UnpackQ2_K(const std::byte* bytes, KBlock* block);
void UnpackQ3_K(const std::byte* bytes, KBlock* block);
void UnpackQ4_K(const std::byte* bytes, KBlock* block);
void UnpackQ5_K(const std::byte* bytes, KBlock* block);
void UnpackQ6_K(const std::byte* bytes, KBlock* block);

// The scales and minima of Q4_K and Q5_K: eight of each, 6 bits wide, in 12 bytes.
void UnpackSixBitScales(const std::byte* bytes, KBlock* block);

// BlockFormatInfo::dequantize of a K format. The products are exact (11 + 6 bits of scale times the code), or rounded once where
// scales have 8 bits (Q6_K, which has no minimum).
template <void (*kUnpack)(const std::byte*, KBlock*), int kBytes, int kRun, int kZero>
void DequantizeKBlocks(const std::byte* blocks, int64_t values, float* out) {
  KBlock block;
  for (; values > 0; values -= KBlock::kValues, blocks += kBytes) {
    kUnpack(blocks, &block);
    const float factor = HalfToFloat(block.factor), minimum_factor = HalfToFloat(block.minimum_factor);
    for (int i = 0; i < KBlock::kValues; ++i) {
      const float scale = factor * static_cast<float>(block.scales[i / kRun]);
      const float minimum = minimum_factor * static_cast<float>(block.minima[i / kRun]);
      *out++ = scale * static_cast<float>(block.codes[i] - kZero) - minimum;
    }
  }
}

}  // namespace tessera
