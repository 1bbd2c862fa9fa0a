#include "tessera/quant/finite_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace tessera {
namespace {

// Returns true if the number at `at` is a NaN or an infinity: all bits of the exponent are set.
template <typename Word, Word kExponent>
bool IsNotFinite(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return (word & kExponent) == kExponent;
}

bool IsHalfNotFinite(const std::byte* at) { return IsNotFinite<uint16_t, 0x7c00>(at); }

// The exponent's bits, the five below the sign, are in the top bits of two of four words.
bool IsScaleOfIQ1_MNotFinite(const std::byte* block) {
  return (std::to_integer<int>(block[55]) & 0x70) == 0x70 && (std::to_integer<int>(block[53]) & 0xc0) == 0xc0;
}

// A scale is always finite; the largest three, 2^125 to 2^127, times a large code are not.
bool HasInfinityOfMXFP4(const std::byte* block) {
  if (std::to_integer<int>(block[0]) < 253) return false;
  float values[32];
  InfoOf(BlockFormat::kMXFP4).dequantize(block, 32, values);
  return std::any_of(std::begin(values), std::end(values), [](float value) { return !std::isfinite(value); });
}

// Counts without branches, since there is nothing to find in almost every file; looks for the first only if there is one.
template <typename IsBad>
NotFiniteBlocks Find(absl::Span<const std::byte> blocks, int64_t stride, IsBad is_bad) {
  NotFiniteBlocks found;
  const int64_t count = static_cast<int64_t>(blocks.size()) / stride;
  for (int64_t i = 0; i < count; ++i) found.count += is_bad(blocks.data() + i * stride);
  if (found.count == 0) return found;
  for (found.first = 0; !is_bad(blocks.data() + found.first * stride);) ++found.first;
  return found;
}

}  // namespace

NotFiniteBlocks FindNotFinite(BlockFormat format, absl::Span<const std::byte> blocks) {
  const BlockFormatInfo& info = InfoOf(format);
  if (format == BlockFormat::kF32) return Find(blocks, 4, IsNotFinite<uint32_t, 0x7f800000>);
  if (format == BlockFormat::kBF16) return Find(blocks, 2, IsNotFinite<uint16_t, 0x7f80>);
  if (format == BlockFormat::kF16) return Find(blocks, 2, IsHalfNotFinite);
  switch (format) {
    case BlockFormat::kIQ1_M: return Find(blocks, info.bytes_per_block, IsScaleOfIQ1_MNotFinite);
    case BlockFormat::kMXFP4: return Find(blocks, info.bytes_per_block, HasInfinityOfMXFP4);
    case BlockFormat::kNVFP4: return {};  // Each scale is a number: 127 is read as 0 (quant/internal/formats/nvfp4.cc).
    default: break;
  }
  const int first = info.scales[0], second = info.scales[1] < 0 ? first : info.scales[1];
  return Find(blocks, info.bytes_per_block,
              [=](const std::byte* block) { return IsHalfNotFinite(block + first) || IsHalfNotFinite(block + second); });
}

}  // namespace tessera
