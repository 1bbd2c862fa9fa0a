#include "tessera/quant/panels/q4_k.h"

#include "tessera/quant/panels/nibble_block.h"
#include "tessera/quant/panels/registry.h"

namespace tessera::panels {
namespace {

// GGUF's block of 256: FP16 scale and minimum, 12 bytes of 6-bit scales and minima, 128 bytes of nibbles (64 inputs per 32 bytes:
// the first 32 inputs low, the next 32 high).
constexpr int kGgufBlockBytes = 144, kBlockBytes = Q4_K::kHeaderBytes + 8 * Q4_K::kGroupBytes;

struct SixBits { uint8_t scale, minimum; };

// Entry g of the 12 packed bytes: the first four scales and minima are the low 6 bits of bytes 0-3 and 4-7; of the last four, the
// low nibble of both lies in bytes 8-11 and the top two bits in bytes 0-3 (scale) and 4-7 (minimum).
SixBits ScaleOf(const std::byte* packed, int g) {
  const auto at = [packed](int i) { return static_cast<unsigned>(packed[i]); };
  if (g < 4) return {static_cast<uint8_t>(at(g) & 63), static_cast<uint8_t>(at(g + 4) & 63)};
  return {static_cast<uint8_t>((at(g + 4) & 15) | (at(g - 4) >> 6 << 4)), static_cast<uint8_t>((at(g + 4) >> 4) | (at(g) >> 6 << 4))};
}

void PackBlock(const std::byte* block, std::byte* packed, int output) {
  PutHalf(block, packed, output);
  PutHalf(block + 2, packed + 64, output);
  for (int g = 0; g < 8; ++g) {
    std::byte* group = packed + Q4_K::kHeaderBytes + g * Q4_K::kGroupBytes;
    const std::byte* source = block + 16 + 32 * (g / 2);
    std::byte nibbles[16];  // Paired anew: input k low, k + 16 high.
    for (int k = 0; k < 16; ++k) {
      const unsigned low = static_cast<unsigned>(source[k]) >> (4 * (g % 2)) & 15;
      const unsigned high = static_cast<unsigned>(source[k + 16]) >> (4 * (g % 2)) & 15;
      nibbles[k] = static_cast<std::byte>(low | high << 4);
    }
    PutNibbles(nibbles, group, output);
    const SixBits bits = ScaleOf(block + 4, g);
    group[512 + output] = static_cast<std::byte>(bits.scale);
    group[544 + output] = static_cast<std::byte>(bits.minimum);
  }
}

void Pack(const std::byte* gguf_rows, int64_t row_bytes, int rows, int64_t in_features, std::byte* panel) {
  ForEachBlock(gguf_rows, row_bytes, rows, in_features / 256, kGgufBlockBytes, kBlockBytes, panel, PackBlock);
}

void ReadRow(const std::byte* panel, int lane, int64_t in_features, float* out) {
  for (int64_t k = 0; k < in_features; ++k) {
    const std::byte* header = panel + k / 256 * kBlockBytes;
    const std::byte* group = header + Q4_K::kHeaderBytes + k % 256 / 32 * Q4_K::kGroupBytes;
    const float scale = Half(header + 2 * lane) * static_cast<float>(group[512 + lane]);
    const float minimum = Half(header + 64 + 2 * lane) * static_cast<float>(group[544 + lane]);
    out[k] = scale * NibbleAt(group, lane, k % 32) - minimum;
  }
}

}  // namespace

const PanelFormat kQ4_K = {256, kBlockBytes, false, Pack, ReadRow};

}  // namespace tessera::panels
