// How long samples are that are written together: of N of a question's samples the longest, the second longest and so on, on average.
//
//   const std::vector<int64_t> tokens = {120, 80, 200, 90};        // of all that were recorded
//   const std::vector<double> longest = MeanLengths(tokens, 2);    // of two of them: {155, 90}
//
// A pass has a row for each sample that goes on. So the first of these says how many passes a question takes, and the difference of two
// neighbours how many of them have so many rows. Averages are over all ways to take N, exactly: the k-th longest of all is the r-th longest
// of N in C(k - 1, r - 1) * C(all - k, N - r) of C(all, N) ways. Pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// From the longest to the shortest. REQUIRES: 1 <= drawn <= the number of lengths.
std::vector<double> MeanLengths(absl::Span<const int64_t> lengths, int drawn);

}  // namespace tessera
