// Lengths of samples that are decoded together: the longest, the second longest and so on of N samples of a question, on average.
//
//   const std::vector<int64_t> tokens = {120, 80, 200, 90};        // of all that were recorded
//   const std::vector<double> longest = MeanLengths(tokens, 2);    // of two of them: {155, 90}
//
// A pass has a row for each sample that has not ended. So the first length is the number of passes that a question takes. The difference
// between the r-th length and the next is the number of passes with r rows. Averages are exact, over all ways to take N: the k-th longest
// of all is the r-th longest of N in C(k - 1, r - 1) * C(all - k, N - r) of C(all, N) ways. Pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// Returns mean lengths from the longest to the shortest. REQUIRES: 1 <= drawn <= the number of lengths.
std::vector<double> MeanLengths(absl::Span<const int64_t> lengths, int drawn);

}  // namespace tessera
