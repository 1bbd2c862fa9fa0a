#include "tessera/spec/policies/prune_gate.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

// `fixed` seconds and `row` more for each row.
CostProfile Passes(double fixed, double row) {
  std::vector<double> pass;
  for (int rows = 1; rows <= 32; ++rows) pass.push_back(fixed + row * rows);
  return Costs(pass);
}

constexpr PruneGate::Question kQuestion = {.all = {.rows = 24, .leaves = 9}, .rows = 24, .upper_share = 0.4, .token_seconds = 0.1};

TEST(PruneGate, HeaderExample) {
  const CostProfile costs = Passes(0.010, 0.001);
  const bool verdict_ended_where_a_pruned_node_was = false;
  PruneGate gate;
  bool was_worth = false;
  if (gate.IsWorth({.all = {.rows = 24, .leaves = 9}, .rows = 24, .upper_share = 0.4, .token_seconds = 0.1}, costs)) {
    was_worth = true;
    gate.Learn(/*rows=*/24, /*dropped=*/11, /*seconds=*/3e-4);
    gate.LearnLoss(verdict_ended_where_a_pruned_node_was);
  }
  gate.report();
  EXPECT_TRUE(was_worth);
  EXPECT_EQ(gate.report().passes, 1);
  EXPECT_EQ(gate.report().rows, 24);
  EXPECT_EQ(gate.report().dropped, 11);
  EXPECT_EQ(gate.report().lost, 0);
  EXPECT_EQ(gate.report().seconds, 3e-4);
}

TEST(PruneGate, NothingPaysBeforeAStepIsKnown) { EXPECT_FALSE(PruneGate().IsWorth(kQuestion, CostProfile())); }

// 1 s of reading hides whatever 24 rows compute, and a tenth of a microsecond per row is no reason.
TEST(PruneGate, IsOffWhereReadingHidesComputing) {
  for (const double row : {0.0, 1e-7}) {
    PruneGate gate;
    for (int pass = 0; pass < 200; ++pass) EXPECT_FALSE(gate.IsWorth(kQuestion, Passes(1, row)));
  }
}

// Half of 24 rows at 1 ms each, in 0.4 of the layers: 4.8 ms, of a pass of 24 ms.
TEST(PruneGate, TheTimeOfThePredictorCounts) {
  const CostProfile costs = Passes(0, 0.001);
  for (const double seconds : {0.0040, 0.0052}) {
    PruneGate gate;
    gate.Learn(24, 12, seconds);
    EXPECT_EQ(gate.IsWorth(kQuestion, costs), seconds < 0.0045) << seconds;
  }
}

TEST(PruneGate, ALateLayerSparesLittle) {
  const CostProfile costs = Passes(0.010, 0.001);
  PruneGate::Question late = kQuestion;
  late.upper_share = 0.02;   // 0.24 ms, less than 1 % of 34 ms.
  EXPECT_FALSE(PruneGate().IsWorth(late, costs));
  late.upper_share = 0.04;
  EXPECT_TRUE(PruneGate().IsWorth(late, costs));
}

// Where every pruning costs a token of 8 ms, 4.8 ms are no gain; one of 64 passes sees whether that is still so.
TEST(PruneGate, LossesSwitchPruningOffAndPruningIsTriedAgain) {
  const CostProfile costs = Passes(0, 0.001);
  PruneGate::Question question = kQuestion;
  question.token_seconds = 0.008;
  PruneGate gate;
  int losing = 0, passes = 0;
  for (; passes < 1000; ++passes) {
    if (!gate.IsWorth(question, costs)) continue;
    ++losing;
    gate.Learn(24, 12, 1e-4);
    gate.LearnLoss(true);
  }
  EXPECT_GT(losing, 10);
  EXPECT_LT(losing, 30);
  EXPECT_EQ(gate.report().lost, losing);
  int winning = 0;
  for (passes = 0; passes < 2000; ++passes) {
    if (!gate.IsWorth(question, costs)) continue;
    ++winning;
    gate.Learn(24, 12, 1e-4);
    gate.LearnLoss(false);
  }
  EXPECT_GT(winning, 1000) << "it was not noticed that nothing is lost any more";
}

TEST(PruneGate, RefusedPruningsSwitchPruningOffToo) {
  const CostProfile costs = Passes(0, 0.001);
  PruneGate gate;
  int tried = 0;
  for (int pass = 0; pass < 1000; ++pass) {
    if (!gate.IsWorth(kQuestion, costs)) continue;
    ++tried;
    gate.Learn(24, 0, 1e-3);
  }
  EXPECT_LT(tried, 40);
  EXPECT_GE(tried, 1000 / 64);
}

// A small text among others can lose its own rows alone.
TEST(PruneGate, ATextCountsWithItsOwnRows) {
  const CostProfile costs = Passes(0.010, 0.001);
  EXPECT_TRUE(PruneGate().IsWorth({.all = {.rows = 24, .leaves = 9, .texts = 4}, .rows = 12, .upper_share = 0.5}, costs));
  EXPECT_FALSE(PruneGate().IsWorth({.all = {.rows = 24, .leaves = 9, .texts = 4}, .rows = 1, .upper_share = 0.5}, costs));
}

TEST(PruneGate, ReportsAddUp) {
  PruneReport sum = {.passes = 1, .rows = 2, .dropped = 3, .lost = 4, .seconds = 5};
  sum.Add({.passes = 10, .rows = 20, .dropped = 30, .lost = 40, .seconds = 50});
  EXPECT_EQ(sum.passes, 11);
  EXPECT_EQ(sum.rows, 22);
  EXPECT_EQ(sum.dropped, 33);
  EXPECT_EQ(sum.lost, 44);
  EXPECT_EQ(sum.seconds, 55);
}

}  // namespace
}  // namespace tessera
