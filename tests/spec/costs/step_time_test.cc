#include "tessera/spec/costs/step_time.h"

#include <gtest/gtest.h>

#include "tessera/spec/policies/row_policy.h"

namespace tessera {
namespace {

TEST(StepTime, HeaderExample) {
  CostProfile costs;
  const TokenTree tree(7);
  const StepTime time = {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001};
  LearnStep(ShapeOf(tree), time, costs);
  EXPECT_TRUE(costs.KnowsPlain());
  EXPECT_NEAR(costs.PlainSeconds(), 0.005, 1e-9);
  LearnStep({.rows = 24, .leaves = 9, .texts = 8}, {.pass_seconds = 0.016, .first_rows = 8, .first_seconds = 0.003}, costs);
  EXPECT_NEAR(costs.PassSeconds({.rows = 24}), 0.016, 1e-9);
  EXPECT_NEAR(costs.HeadSeconds(8), 0.003, 1e-9);
}

TEST(StepTime, RowsThatCameOneByOneTeachTheCostOfOneRow) {
  CostProfile costs;
  LearnStep({}, {.pass_seconds = 0.004, .first_rows = 2, .first_seconds = 0.003, .later_rows = 4, .later_seconds = 0.008}, costs);
  EXPECT_NEAR(costs.HeadSeconds(1), 0.002, 1e-9);
  EXPECT_NEAR(costs.HeadSeconds(2), 0.003, 1e-9);
}

TEST(StepTime, UncomputedRowsTeachNothing) {
  CostProfile costs;
  LearnStep({}, {.pass_seconds = 0.004}, costs);
  EXPECT_EQ(costs.HeadSeconds(1), 0);
  EXPECT_EQ(costs.TopSeconds(1), 0);
}

}  // namespace
}  // namespace tessera
