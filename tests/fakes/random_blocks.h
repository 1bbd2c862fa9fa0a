// Seeded random weights in any block format, with scales small enough that products stay ordinary numbers.
//
// RandomBlocks: contents as in a file: uniform numbers from -scale to scale, quantized. For formats that are only read: random codes under
// scales that give numbers of that size. WildBlocks: random bits in every field except the scales, including bits that a quantizer never
// writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"

namespace tessera {

// Puts one FP16 into all scales (and minima) of a block. False: the format's scales are not FP16.
inline bool PutHalf(BlockFormat format, uint16_t half, std::byte* block) {
  if (format == BlockFormat::kIQ1_M) {  // In four pieces.
    for (int i = 0; i < 4; ++i) {
      std::byte& top = block[49 + 2 * i];
      top = (top & std::byte{15}) | static_cast<std::byte>((half >> 4 * i & 15) << 4);
    }
    return true;
  }
  const BlockFormatInfo& info = InfoOf(format);
  for (int at : info.scales) {
    if (at >= 0) std::memcpy(block + at, &half, sizeof half);
  }
  return info.scales[0] >= 0;
}

// Puts a scale near this positive number into a block of MXFP4 or NVFP4.
inline void PutFp4Scale(BlockFormat format, float scale, SeededRandom& random, std::byte* block) {
  const int exponent = std::ilogb(scale);
  if (format == BlockFormat::kMXFP4) block[0] = static_cast<std::byte>(128 + exponent);
  if (format != BlockFormat::kNVFP4) return;
  for (int i = 0; i < 4; ++i) block[i] = static_cast<std::byte>(std::clamp(exponent + 8, 0, 15) << 3 | random.Below(8));
}

// Puts 0.001 to 0.002 into each scale; the small scales of NVFP4 keep their random bits.
inline std::vector<std::byte> WildBlocks(BlockFormat format, int64_t values, uint64_t seed) {
  const BlockFormatInfo& info = InfoOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.Next());
  const auto small = [&random] { return static_cast<float>(0.001 + 0.001 * random.Uniform()); };
  for (size_t block = 0; block < blocks.size(); block += info.bytes_per_block) {
    std::byte* const bytes = blocks.data() + block;
    for (int at : info.scales) {
      if (at < 0) continue;
      const uint16_t half = FloatToHalf(small());
      std::memcpy(bytes + at, &half, sizeof half);
    }
    if (format == BlockFormat::kIQ1_M) PutHalf(format, FloatToHalf(small()), bytes);
    if (format == BlockFormat::kMXFP4) PutFp4Scale(format, small(), random, bytes);
  }
  return blocks;
}

// Puts random codes under scales that give the block a root mean square of scale / sqrt(3), like uniform numbers.
inline void PutRandomBlock(const BlockFormatInfo& info, float scale, SeededRandom& random, std::byte* block) {
  for (int i = 0; i < info.bytes_per_block; ++i) block[i] = static_cast<std::byte>(random.Next());
  if (info.format == BlockFormat::kTQ2_0 || info.format == BlockFormat::kQ2_0) {
    // Code 3, which no quantizer writes, becomes 1, or the mean of the weights would not be 0.
    for (int i = 0; i < info.bytes_per_block; ++i) block[i] &= ~((block[i] & block[i] >> 1 & std::byte{0x55}) << 1);
  }
  constexpr float kSquaresOfFp4 = 274.0f / 8;  // The mean of the squared numbers of kFp4Codebook.
  if (!PutHalf(info.format, FloatToHalf(1), block)) return PutFp4Scale(info.format, scale / std::sqrt(3 * kSquaresOfFp4), random, block);
  std::vector<float> values(info.values_per_block);
  info.dequantize(block, info.values_per_block, values.data());
  float squares = 0;
  for (const float value : values) squares += value * value;
  PutHalf(info.format, FloatToHalf(scale / std::sqrt(3 * squares / static_cast<float>(info.values_per_block))), block);
}

inline std::vector<std::byte> RandomBlocks(BlockFormat format, int64_t values, uint64_t seed, float scale = 1.0f) {
  const BlockFormatInfo& info = InfoOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  if (info.quantize == nullptr) {
    for (size_t at = 0; at < blocks.size(); at += info.bytes_per_block) PutRandomBlock(info, scale, random, blocks.data() + at);
    return blocks;
  }
  std::vector<float> numbers(values);
  for (float& number : numbers) number = scale * static_cast<float>(random.Uniform() * 2 - 1);
  info.quantize(numbers.data(), values, blocks.data());
  return blocks;
}

}  // namespace tessera
