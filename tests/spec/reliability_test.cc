#include "tessera/spec/reliability.h"

#include <gtest/gtest.h>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(Reliability, HeaderExample) {
  Reliability reliability({});
  EXPECT_FLOAT_EQ(reliability.Chance(0.8f, /*depth=*/1), 0.8f);
  reliability.Learn(/*depth=*/1, /*hit=*/false);
  EXPECT_FLOAT_EQ(reliability.Chance(0.8f, 1), 0.76f);
  ReliabilityTable table;
  table.Add(/*expected=*/0.76, /*accepted=*/true);
  EXPECT_NEAR(table.Error(), 0.24, 1e-9);
}

TEST(Reliability, ADepthThatWasNeverSeenTakesThatOfAll) {
  Reliability reliability({});
  for (int i = 0; i < 3; ++i) reliability.Learn(1, false);
  EXPECT_DOUBLE_EQ(reliability.rho(4), reliability.rho(1));
  reliability.Learn(2, true);
  EXPECT_GT(reliability.rho(2), reliability.rho(1));
  for (int i = 0; i < 10; ++i) reliability.Learn(100, false);
  EXPECT_LT(reliability.rho(8), reliability.rho(1));   // Deep ones are one.
}

TEST(Reliability, FallsToItsLeastAndRisesAgain) {
  Reliability reliability({.new_weight = 0.1, .least = 0.3});
  for (int i = 0; i < 100; ++i) reliability.Learn(1, false);
  EXPECT_DOUBLE_EQ(reliability.rho(1), 0.3);
  for (int i = 0; i < 100; ++i) reliability.Learn(1, true);
  EXPECT_GT(reliability.rho(1), 0.99);
  EXPECT_LE(reliability.rho(1), 1);
}

TEST(Reliability, FollowsTheShareOfHits) {
  Reliability reliability({});
  SeededRandom random(1);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    reliability.Learn(1, random.Uniform() < 0.7);
    if (i >= 2000) sum += reliability.rho(1);
  }
  EXPECT_NEAR(sum / 2000, 0.7, 0.05);
}

TEST(ReliabilityTable, RightEstimatesLieOnTheDiagonalAndWrongOnesDoNot) {
  SeededRandom random(2);
  ReliabilityTable right, wrong, both;
  for (int i = 0; i < 20000; ++i) {
    const double expected = random.Uniform();
    right.Add(expected, random.Uniform() < expected);
    wrong.Add(expected, random.Uniform() < expected * expected);
  }
  EXPECT_LT(right.Error(), 0.03);
  EXPECT_NEAR(wrong.Error(), 1.0 / 6, 0.03);   // The mean of x - x * x.
  both += right;
  both += wrong;
  EXPECT_EQ(both.count(), 40000);
  EXPECT_NEAR(both.bins()[10].expected(), 0.525, 0.01);
}

TEST(ReliabilityTable, TheEndsHaveBins) {
  ReliabilityTable table;
  EXPECT_EQ(table.Error(), 0);
  table.Add(0, false);
  table.Add(1, true);
  EXPECT_EQ(table.bins().front().count, 1);
  EXPECT_EQ(table.bins().back().count, 1);
  EXPECT_EQ(table.Error(), 0);
}

}  // namespace
}  // namespace tessera
