// Tests whether counts may come from a distribution.
//
//   EXPECT_LT(ChiSquare(counts, distribution), MostChiSquare(counts.size()));   // exceeded by chance about once in a million
//
// Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

// Returns the sum over outcomes of (count - expected)^2 / expected; infinite if an impossible outcome occurred. distribution: sums to 1.
inline double ChiSquare(const std::vector<int64_t>& counts, const std::vector<double>& distribution) {
  double all = 0, sum = 0;
  for (const int64_t count : counts) all += static_cast<double>(count);
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * distribution[i], difference = static_cast<double>(counts[i]) - expected;
    if (expected > 0) sum += difference * difference / expected;
    else if (counts[i] > 0) return std::numeric_limits<double>::infinity();
  }
  return sum;
}

// Returns the value that chance exceeds about once in a million (Wilson and Hilferty's normal approximation, 4.75 deviations).
inline double MostChiSquare(size_t outcomes) {
  const double freedom = static_cast<double>(outcomes) - 1, spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + 4.75 * std::sqrt(spread), 3);
}

}  // namespace tessera
