// How the K formats choose what a block holds: a search for the scales, minima and codes that reproduce its values best.
//
//   constexpr KShape kQ4_K = {.run = 32, .codes = 16, .highest_scale = 63, .highest_minimum = 63};
//   const KBlock block = SearchKBlock(kQ4_K, values, /*importance=*/nullptr);   // Which numbers it stands for: k_block.h.
//
// "Best" is the smallest sum of squared errors, each times the importance of its value. First each run alone, as if its scale and
// minimum could be any number: a few scales are tried, each improved by least squares. Then the factors, so that the largest scale and
// the largest minimum fit. Last each run again, now with the small integers that scales and minima have to be: those next to the first
// answer are tried with the codes that suit them, so that a scale's rounding is made good by the minimum and the codes as far as they can.
// tests/quant/quantize_test.cc holds the result to what rounding to the nearest gives. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/internal/formats/k_block.h"

namespace tessera {

// The numbers a K format can hold.
struct KShape {
  int run;               // Values that share a scale: 16 or 32.
  int codes;             // A code is below this.
  int zero = 0;          // The code of zero.
  int lowest_scale = 0;  // Below zero, or there is a minimum.
  int highest_scale;
  int highest_minimum = 0;  // 0: none.
};

// The block for 256 values. NaN counts as 0, and what is beyond the format's range, infinities too, as its largest number. importance: of
// 256 values, or null: all the same.
KBlock SearchKBlock(const KShape& shape, const float* in, const float* importance);

// BlockFormatInfo::search of a K format.
template <void (*kPack)(const KBlock&, std::byte*), int kBytes>
void SearchKBlocks(const KShape& shape, const float* in, const float* importance, int64_t values, std::byte* blocks) {
  std::fill_n(blocks, values / KBlock::kValues * kBytes, std::byte{0});  // Bits are added to bytes.
  for (int64_t i = 0; i < values; i += KBlock::kValues, blocks += kBytes) {
    kPack(SearchKBlock(shape, in + i, importance == nullptr ? nullptr : importance + i), blocks);
  }
}

}  // namespace tessera
