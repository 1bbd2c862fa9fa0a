#include "tessera/model/text/logit_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(LogitMath, HeaderExample) {
  const std::vector<float> logits = {0.f, 1.f, 0.f};
  const TokenId token = 1;
  const double nll = LogSumExp(logits) - logits[token];
  EXPECT_NEAR(nll, std::log(std::exp(1.0) + 2) - 1, 1e-7);
  EXPECT_EQ(LargestLogits(logits, 20), (std::vector<TokenId>{1, 0, 2}));
}

TEST(LogitMath, LogSumExpDoesNotOverflow) {
  EXPECT_NEAR(LogSumExp({1000.f, 1000.f}), 1000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(LogSumExp({-1000.f, -1001.f}), -1000 + std::log1p(std::exp(-1.0)), 1e-7);
}

TEST(LogitMath, LogSumExpIsThatOfPlainSumsForEveryLength) {
  SeededRandom random(1);
  for (int count = 1; count < 100; ++count) {
    std::vector<float> logits(count);
    long double sum = 0;
    for (float& logit : logits) {
      logit = static_cast<float>(80 * random.Uniform() - 60);
      sum += std::exp(static_cast<long double>(logit));
    }
    EXPECT_NEAR(LogSumExp(logits), static_cast<double>(std::log(sum)), 3e-7) << count;
  }
}

TEST(LogitMath, LogSumExpOfANanIsNanAndMinusInfinityAddsNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (int at : {0, 3, 7, 8, 11}) {
    std::vector<float> logits(12, 1.f);
    logits[at] = -infinity;
    EXPECT_NEAR(LogSumExp(logits), 1 + std::log(11.0), 3e-7) << at;
    logits[at] = nan;
    EXPECT_TRUE(std::isnan(LogSumExp(logits))) << at;
  }
}

TEST(LogitMath, LargestLogitsBreakTiesByLowestId) {
  EXPECT_EQ(LargestLogits({1.f, 3.f, 3.f, 2.f}, 3), (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(LargestLogits({1.f, 1.f}, 9), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(LargestLogits({1.f, 1.f}, 0), std::vector<TokenId>());
}

TEST(LogitMath, NanCountsAsLeast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(LargestLogits({nan, -5.f, nan, 2.f}, 4), (std::vector<TokenId>{3, 1, 0, 2}));
}

TEST(LogitMath, MeanLogitIsThatOfPlainSumsForEveryLength) {
  SeededRandom random(2);
  std::vector<float> logits;
  long double sum = 0;
  for (int count = 1; count < 40; ++count) {
    logits.push_back(random.Uniform(-50, 30));
    sum += logits.back();
    EXPECT_NEAR(MeanLogit(logits), static_cast<double>(sum / count), 1e-12) << count;
  }
}

}  // namespace
}  // namespace tessera
