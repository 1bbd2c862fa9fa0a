// Seeded random weights in any block format, with scales small enough that products stay ordinary numbers.
//
// RandomBlocks: what a file holds: uniform numbers from -scale to scale, quantized. WildBlocks: random bits in every field but the
// FP16 scales, also those that a quantizer never writes.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"

namespace tessera {

// Where the FP16 numbers of a block lie: its scale and its minimum, or their factors.
struct HalvesOfBlock { int first_byte, count; };

inline HalvesOfBlock HalvesOf(BlockFormat format) {
  switch (format) {
    case BlockFormat::kF32: case BlockFormat::kF16: case BlockFormat::kBF16: return {0, 0};
    case BlockFormat::kQ4_1: case BlockFormat::kQ5_1: case BlockFormat::kQ4_K: case BlockFormat::kQ5_K: return {0, 2};
    case BlockFormat::kQ2_K: return {80, 2};
    case BlockFormat::kQ3_K: return {108, 1};
    case BlockFormat::kQ6_K: return {208, 1};
    default: return {0, 1};
  }
}

// scale / 1000 to scale / 500 in each FP16.
inline std::vector<std::byte> WildBlocks(BlockFormat format, int64_t values, uint64_t seed, float scale = 1.0f) {
  const BlockFormatInfo& info = InfoOf(format);
  const auto [first_byte, count] = HalvesOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.Next());
  for (size_t block = 0; block < blocks.size(); block += info.bytes_per_block) {
    for (int i = 0; i < count; ++i) {
      const uint16_t half = FloatToHalf(scale * static_cast<float>(0.001 + 0.001 * random.Uniform()));
      std::memcpy(blocks.data() + block + first_byte + 2 * i, &half, sizeof half);
    }
  }
  return blocks;
}

inline std::vector<std::byte> RandomBlocks(BlockFormat format, int64_t values, uint64_t seed, float scale = 1.0f) {
  const BlockFormatInfo& info = InfoOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  std::vector<float> numbers(values);
  for (float& number : numbers) number = scale * static_cast<float>(random.Uniform() * 2 - 1);
  info.quantize(numbers.data(), values, blocks.data());
  return blocks;
}

}  // namespace tessera
