// Means over questions, with intervals that say how far other questions could have moved the means.
//
//   const std::vector<double> rights = {1, 0.5, 0, 1};             // for each question, how often the answer that was chosen was right
//   const Estimate estimate = Bootstrap(rights, {.resamples = 1000, .seed = 7});
//   estimate.mean;                                                 // 0.625
//   estimate.low, estimate.high;                                   // the middle 95 % of the means of questions drawn again
//
// Each resample draws as many questions as there are, with replacement (Efron 1979, percentiles). Values of equal number and equal seed use
// the same draws, so the interval of a difference is the interval of a paired comparison. Pure functions.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace tessera {

struct Estimate {
  double mean = 0, low = 0, high = 0;
};

struct BootstrapOptions {
  int resamples = 1000;
  uint64_t seed = 0;
};

// Returns the mean and the interval. REQUIRES: values are not empty, resamples > 0.
Estimate Bootstrap(absl::Span<const double> values, const BootstrapOptions& options);

// Returns the probability that at least one of `drawn` samples is right, drawn from `all` samples without replacement, if `right` samples
// are right. The result is pass@k of Chen et al. 2021 (arXiv 2107.03374), section 2.1. REQUIRES: 1 <= drawn <= all, 0 <= right <= all.
double AnyRight(int all, int right, int drawn);

}  // namespace tessera
