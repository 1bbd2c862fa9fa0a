// The parts the programs share that are functions of their arguments.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tessera/apps/bench/benchmark.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/logit_math.h"
#include "tessera/base/random.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

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

TEST(Spread, MedianIsTheMiddle) {
  const Spread odd = SpreadOf({3, 1, 2}), even = SpreadOf({4, 1, 3, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(even.median, 2.5);
}

TEST(ShownMessage, CallsAnOptionByItsFlagOnce) {
  EXPECT_EQ(ShownMessage(WrongUsage("threads", 999, "0 to 256")), "--threads: found 999, expected 0 to 256");
  EXPECT_EQ(ShownMessage(ForField("path", absl::InvalidArgumentError("found x"))), "--path: found x");
  EXPECT_EQ(ShownMessage(ForField("path", absl::InvalidArgumentError("path: found x"))), "--path: found x");
}

TEST(ShownMessage, OptionsThatNoFlagSetsKeepTheirNames) {
  EXPECT_EQ(ShownMessage(WrongUsage("logit_rows", -1, "0 and up")), "logit_rows: found -1, expected 0 and up");
  EXPECT_EQ(ShownMessage(absl::InvalidArgumentError("threads: found 999")), "threads: found 999");
}

TEST(ShownMessage, AddsTheFlagThatSetsALimit) {
  const absl::Status full = absl::ResourceExhaustedError("prompt: found 31 tokens, expected at most 8, the context");
  EXPECT_EQ(ShownMessage(LimitedBy("context", full)), "prompt: found 31 tokens, expected at most 8, the context (--context)");
  EXPECT_EQ(ShownMessage(LimitedBy("sessions", full)), full.message());
}

}  // namespace
}  // namespace tessera
