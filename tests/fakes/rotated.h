// The rotation of heads in a cache of bytes (docs/numerics.md), by its definition.
//
//   const std::vector<float> h = Rotated(head);     // Rotated(h) is n times the head
#pragma once

#include <bit>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// Splits x into parts of n numbers; n is the largest power of two that divides the size of x. Multiplies each part with the Hadamard matrix
// of order n: entry (i, j) is -1 where i and j have an odd number of bits in common.
inline std::vector<float> Rotated(absl::Span<const float> x) {
  const size_t order = x.size() & -x.size();
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < order; ++j) sum += (std::popcount(i % order & j) % 2 == 0 ? 1.0 : -1.0) * x[i / order * order + j];
    y[i] = static_cast<float>(sum);
  }
  return y;
}

}  // namespace tessera
