#include "tessera/base/random.h"

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Random, HeaderExample) {
  const uint64_t seed = 1, sample = 2, token = 3;
  const int64_t rows = 10;
  double u = CounterUniform(seed, /*stream=*/sample, /*index=*/token);
  SeededRandom random(7);
  int64_t row = random.Below(rows);
  EXPECT_TRUE(u >= 0 && u < 1);
  EXPECT_TRUE(row >= 0 && row < rows);
}

// Texts sampled with a seed are reproducible only while these stay as they are. The first is the published start of SplitMix64
// with seed 0.
TEST(Random, ValuesAreFixedForEver) {
  EXPECT_EQ(MixBits(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(CounterRandom(0, 0, 0), MixBits(MixBits(MixBits(0))));
  EXPECT_EQ(CounterRandom(1, 2, 3), 0xD0734750FDE362B3u);
}

TEST(Random, SeedStreamAndIndexAreNotInterchangeable) {
  std::set<uint64_t> values;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint64_t stream = 0; stream < 20; ++stream) {
      for (uint64_t index = 0; index < 20; ++index) values.insert(CounterRandom(seed, stream, index));
    }
  }
  EXPECT_EQ(values.size(), 8000u);
}

// Neighbours in seed, stream or index differ in half their bits: each bit flips in 4000 trials 2000 times, plus or minus six
// standard deviations (6 * sqrt(4000) / 2 = 190).
TEST(Random, NeighboursShareNothing) {
  constexpr int kTrials = 4000;
  for (int input = 0; input < 3; ++input) {
    std::vector<int> flips(64);
    for (uint64_t i = 0; i < kTrials; ++i) {
      const uint64_t flipped = CounterRandom(i, 2 * i, 3 * i) ^
                               CounterRandom(i + (input == 0), 2 * i + (input == 1), 3 * i + (input == 2));
      for (int bit = 0; bit < 64; ++bit) flips[bit] += flipped >> bit & 1;
    }
    for (int bit = 0; bit < 64; ++bit) EXPECT_NEAR(flips[bit], kTrials / 2, 190) << "input " << input << " bit " << bit;
  }
}

TEST(Random, UniformFillsTheUnitIntervalEvenly) {
  constexpr int kDraws = 100'000, kBins = 10;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const double u = CounterUniform(5, 6, i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++bins[static_cast<int>(u * kBins)];
  }
  for (int count : bins) EXPECT_NEAR(count, kDraws / kBins, 6 * 95);  // sqrt(n p (1 - p)) = 95.
}

TEST(SeededRandom, BelowReachesEveryValueAndNoOther) {
  SeededRandom random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts.at(random.Below(7));
  for (int count : counts) EXPECT_NEAR(count, 1000, 6 * 29.3);
  EXPECT_EQ(random.Below(1), 0);
  EXPECT_LT(random.Below(INT64_MAX), INT64_MAX);
  EXPECT_DEATH(random.Below(0), "Check failed");
}

TEST(SeededRandom, GaussianHasMeanZeroAndVarianceOne) {
  SeededRandom random(4);
  double sum = 0, squares = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Gaussian();
    sum += value, squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 6 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 6 * std::sqrt(2.0 / kDraws));
}

TEST(SeededRandom, TheSameSeedGivesTheSameSequenceAndRangeIsKept) {
  SeededRandom a(9), b(9), c(10);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const float value = a.Uniform(-2, 3);
    EXPECT_TRUE(value >= -2 && value <= 3);
    EXPECT_EQ(value, b.Uniform(-2, 3));
    differs |= value != c.Uniform(-2, 3);
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace tessera
