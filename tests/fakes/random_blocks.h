// Seeded random weights in any block format, with scales small enough that products stay ordinary numbers.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"

namespace tessera {

// The plain formats and those with a quantizer hold rounded uniform numbers; K blocks hold random bytes with scales near 0.01.
inline std::vector<std::byte> RandomBlocks(BlockFormat format, int64_t values, uint64_t seed, float scale = 1.0f) {
  const BlockFormatInfo& info = InfoOf(format);
  SeededRandom random(seed);
  std::vector<std::byte> blocks(values / info.values_per_block * info.bytes_per_block);
  if (info.quantize != nullptr) {
    std::vector<float> numbers(values);
    for (float& number : numbers) number = scale * static_cast<float>(random.Uniform() * 2 - 1);
    info.quantize(numbers.data(), values, blocks.data());
    return blocks;
  }
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.Next());
  const auto put_half = [&](size_t offset) {
    const uint16_t half = FloatToHalf(scale * static_cast<float>(0.001 + 0.001 * random.Uniform()));
    std::memcpy(blocks.data() + offset, &half, sizeof half);
  };
  for (size_t block = 0; block < blocks.size(); block += info.bytes_per_block) {
    if (format == BlockFormat::kQ6_K) {
      put_half(block + 208);
    } else {
      put_half(block);
      put_half(block + 2);
    }
  }
  return blocks;
}

}  // namespace tessera
