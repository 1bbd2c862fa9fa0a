#include "tessera/apps/lab/scale/tasks/sample_lengths.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <glog/logging.h>

namespace tessera {
namespace {

// Returns the logarithm of the binomial coefficient. REQUIRES: 0 <= taken <= all.
double LogWays(int all, int taken) { return std::lgamma(all + 1.0) - std::lgamma(taken + 1.0) - std::lgamma(all - taken + 1.0); }

}  // namespace

std::vector<double> MeanLengths(absl::Span<const int64_t> lengths, int drawn) {
  const int all = static_cast<int>(lengths.size());
  CHECK(drawn >= 1 && drawn <= all);
  std::vector<int64_t> sorted(lengths.begin(), lengths.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<double> means;
  for (int r = 1; r <= drawn; ++r) {
    double sum = 0, weights = 0;
    for (int k = r; k <= all - (drawn - r); ++k) {
      const double weight = std::exp(LogWays(k - 1, r - 1) + LogWays(all - k, drawn - r) - LogWays(all, drawn));
      sum += weight * static_cast<double>(sorted[static_cast<size_t>(k) - 1]);
      weights += weight;
    }
    const double mean = sum / weights;   // Weights add up to 1, except for rounding.
    means.push_back(means.empty() ? mean : std::min(mean, means.back()));
  }
  return means;
}

}  // namespace tessera
