// Mean lengths of samples that are written together, against all ways to take so many.
#include "tessera/apps/lab/scale/tasks/sample_lengths.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(SampleLengths, HeaderExample) {
  const std::vector<int64_t> tokens = {120, 80, 200, 90};
  const std::vector<double> longest = MeanLengths(tokens, 2);
  ASSERT_EQ(longest.size(), 2u);
  EXPECT_NEAR(longest[0], 155, 1e-9);
  EXPECT_NEAR(longest[1], 90, 1e-9);
}

std::vector<double> ByEnumeration(const std::vector<int64_t>& lengths, int drawn) {
  std::vector<double> sums(static_cast<size_t>(drawn));
  int ways = 0;
  for (unsigned set = 0; set < 1u << lengths.size(); ++set) {
    std::vector<int64_t> taken;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if ((set >> i) % 2 == 1) taken.push_back(lengths[i]);
    }
    if (taken.size() != sums.size()) continue;
    std::sort(taken.begin(), taken.end(), std::greater<>());
    for (size_t r = 0; r < sums.size(); ++r) sums[r] += static_cast<double>(taken[r]);
    ++ways;
  }
  for (double& sum : sums) sum /= ways;
  return sums;
}

TEST(SampleLengths, AverageOverAllWaysToDraw) {
  SeededRandom random(5);
  for (int instance = 0; instance < 60; ++instance) {
    std::vector<int64_t> lengths(static_cast<size_t>(1 + random.Below(9)));
    for (int64_t& length : lengths) length = random.Below(6) * 10;
    for (int drawn = 1; drawn <= static_cast<int>(lengths.size()); ++drawn) {
      const std::vector<double> means = MeanLengths(lengths, drawn), expected = ByEnumeration(lengths, drawn);
      ASSERT_EQ(means.size(), expected.size());
      for (size_t r = 0; r < means.size(); ++r) EXPECT_NEAR(means[r], expected[r], 1e-9) << instance << " " << drawn << " " << r;
    }
  }
}

TEST(SampleLengths, FallAndSumToTheTokensOfTheDrawnSamples) {
  SeededRandom random(9);
  std::vector<int64_t> lengths(64);
  for (int64_t& length : lengths) length = random.Below(512);
  const double mean = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0})) / 64;
  for (const int drawn : {1, 2, 16, 63, 64}) {
    const std::vector<double> means = MeanLengths(lengths, drawn);
    EXPECT_TRUE(std::is_sorted(means.begin(), means.end(), std::greater<>()));
    EXPECT_NEAR(std::accumulate(means.begin(), means.end(), 0.0), drawn * mean, 1e-6 * drawn * mean);
  }
}

}  // namespace
}  // namespace tessera
