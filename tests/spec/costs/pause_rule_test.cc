#include "tessera/spec/costs/pause_rule.h"

#include <gtest/gtest.h>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(PauseRule, HeaderExample) {
  PauseRule rule;
  for (int step = 0; step < 20; ++step) {
    if (rule.active()) {
      rule.Add({.gain = -0.4, .fixed_cost = 0.01});
    } else {
      rule.Skip();
    }
  }
  EXPECT_GE(rule.pauses(), 1);
  EXPECT_GT(rule.skipped(), 0);
  EXPECT_NEAR(rule.loss(), 0.4, 1e-9);
}

// What so many steps lose, as a share of plain ones.
double Lost(PauseRule& rule, int steps, double loss) {
  double lost = 0;
  for (int step = 0; step < steps; ++step) {
    if (rule.active()) {
      rule.Add({.gain = -loss, .fixed_cost = loss});
      lost += loss;
    } else {
      rule.Skip();
    }
  }
  return lost / steps;
}

TEST(PauseRule, ALossOfAnySizeEndsInPlainSpeed) {
  for (const double loss : {0.02, 0.1, 1.0, 10.0}) {
    PauseRule rule;
    Lost(rule, 32, loss);
    EXPECT_LT(Lost(rule, 4000, loss), 0.012) << loss;
    EXPECT_GT(rule.pauses(), 1) << "never tried again: " << loss;
  }
}

TEST(PauseRule, ADrafterThatGainsIsNeverPaused) {
  PauseRule rule;
  for (int step = 0; step < 200; ++step) rule.Add({.gain = step % 4 == 0 ? 1.0 : -0.3, .fixed_cost = 0.01});
  EXPECT_EQ(rule.pauses(), 0);
}

// A pause by bad luck ends, and the drafter is there for most of the steps.
TEST(PauseRule, ADrafterThatSeldomGainsIsMostlyActive) {
  SeededRandom random(5);
  PauseRule rule;
  for (int step = 0; step < 20000; ++step) {
    if (rule.active()) {
      rule.Add({.gain = (random.Below(10) == 0 ? 1.0 : 0.0) - 0.05, .fixed_cost = 0.05});
    } else {
      rule.Skip();
    }
  }
  EXPECT_LT(rule.skipped(), 5000);
}

TEST(PauseRule, AnAlmostFreeDrafterIsNeverPaused) {
  PauseRule rule;
  for (int step = 0; step < 200; ++step) rule.Add({.gain = -0.005, .fixed_cost = 0.005});
  EXPECT_EQ(rule.pauses(), 0);
}

TEST(PauseRule, ADrafterReturnsWhenTheGainReturns) {
  PauseRule rule;
  Lost(rule, 40, 0.1);
  ASSERT_GT(rule.pauses(), 0);
  while (!rule.active()) rule.Skip();
  const int64_t pauses = rule.pauses();
  for (int step = 0; step < 100; ++step) rule.Add({.gain = 0.5, .fixed_cost = 0.1});
  EXPECT_EQ(rule.pauses(), pauses);
}

}  // namespace
}  // namespace tessera
