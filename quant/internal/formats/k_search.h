// The choice of a block's contents in the K formats: a search for the scales, minima and codes that reproduce the values best.
//
//   constexpr KShape kQ4_K = {.run = 32, .codes = 16, .highest_scale = 63, .highest_minimum = 63};
//   const KBlock block = SearchKBlock(kQ4_K, values, /*importance=*/nullptr);   // Which numbers it stands for: k_block.h.
//
// "Best" is the smallest sum of squared errors, each times the importance of its value. First, each run is solved alone, as if scale and
// minimum could be any number: a few scales are tried, each improved by least squares. Then the factors are chosen, so that the largest
// scale and the largest minimum fit. Last, each run is solved again with the small integers that scales and minima must be. Integers next
// to the first answer are tried with the codes that suit them. So the minimum and the codes compensate the rounding of a scale as far as
// possible.
//
// tests/quant/quantize_test.cc checks that the error is below the error of rounding to the nearest. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/internal/formats/k_block.h"

namespace tessera {

// The numbers that a K format can hold.
struct KShape {
  int run;               // Values that share a scale: 16 or 32.
  int codes;             // Number of codes: each code is below `codes`.
  int zero = 0;          // The code of zero.
  int lowest_scale = 0;  // Below zero, unless there is a minimum.
  int highest_scale;
  int highest_minimum = 0;  // 0: none.
};

// Returns the best block for 256 values. NaN counts as 0; numbers beyond the format's range, infinities too, count as the format's largest
// number. importance: of 256 values, or null: all equal.
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
