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

// 0.001 to 0.002 in each FP16.
inline std::vector<std::byte> WildBlocks(BlockFormat format, int64_t values, uint64_t seed) {
  const BlockFormatInfo& info = InfoOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.Next());
  for (size_t block = 0; block < blocks.size(); block += info.bytes_per_block) {
    for (int at : info.scales) {
      if (at < 0) continue;
      const uint16_t half = FloatToHalf(static_cast<float>(0.001 + 0.001 * random.Uniform()));
      std::memcpy(blocks.data() + block + at, &half, sizeof half);
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
