#include "tessera/spec/policies/row_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/tests/fakes/all_cuts.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

double Rate(const TokenTree& tree, const CostProfile& costs, double draft_seconds) {
  double tokens = 0;
  for (const float probability : tree.PathProbabilities()) tokens += probability;
  return tokens / (draft_seconds + costs.PassSeconds({tree.size(), tree.Leaves()}) + tokens * costs.HeadSeconds(1));
}

// The best of all trees with the root.
double BestRate(const TokenTree& tree, const CostProfile& costs, int most_rows, double draft_seconds) {
  double best = 0;
  for (const std::vector<int>& nodes : AllCuts(tree)) {
    if (static_cast<int>(nodes.size()) < most_rows) best = std::max(best, Rate(tree.Pick(nodes), costs, draft_seconds));
  }
  return best;
}

TEST(RowPolicy, HeaderExample) {
  const CostProfile costs = Costs({0.006, 0.0065, 0.007, 0.0075});
  TokenTree tree(1);
  tree.Add(tree.Add(TokenTree::kRoot, 2, 0.9f), 3, 0.9f);
  tree.Add(TokenTree::kRoot, 4, 0.001f);
  const RowChoice choice = ChooseRows(tree, costs, {.most_rows = 16, .draft_seconds = 2e-5});
  const TokenTree rows = tree.Pick(choice.nodes);
  EXPECT_EQ(rows.size(), 3);
  EXPECT_NEAR(choice.tokens, 1 + 0.9 + 0.81, 1e-6);
  EXPECT_NEAR(choice.seconds, 2e-5 + 0.007 + 2.71 * 0.001, 1e-7);

  TokenTree other(5);
  other.Add(TokenTree::kRoot, 6, 0.8f);
  const std::vector<RowChoice> choices = ShareRows({{.tree = &tree}, {.tree = &other}}, costs, {.most_rows = 512});
  EXPECT_EQ(choices[0].shape().rows, 3);
  EXPECT_EQ(choices[1].shape().rows, 2);
  EXPECT_EQ(choices[1].beside.rows, 3);
  EXPECT_GT(PromptRows({.rows = 9, .leaves = 2, .texts = 2}, costs, {.most_rows = 503}), 1);
}

// Without a price of leaves the choice is the best there is, whatever the steps of the cost.
TEST(RowPolicy, NoTreeGivesMoreTokensASecond) {
  SeededRandom random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const TokenTree tree = RandomTree(static_cast<int>(random.Below(10)), random);
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0));
    const int most_rows = 1 + static_cast<int>(random.Below(10));
    const RowChoice choice = ChooseRows(tree, costs, {.most_rows = most_rows, .draft_seconds = 1e-4, .least_gain = 1});
    EXPECT_LT(static_cast<int>(choice.nodes.size()), most_rows);
    EXPECT_NEAR(Rate(tree.Pick(choice.nodes), costs, 1e-4) / BestRate(tree, costs, most_rows, 1e-4), 1, 1e-5) << trial;
    EXPECT_NEAR(choice.tokens / choice.seconds / BestRate(tree, costs, most_rows, 1e-4), 1, 1e-5);
  }
}

TEST(RowPolicy, WithAPriceOfLeavesTheChoiceIsNearTheBest) {
  SeededRandom random(2);
  double worst = 1, sum = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    const TokenTree tree = RandomTree(10, random);
    const double leaf_seconds = 1e-5 * static_cast<double>(random.Below(200));  // First: arguments are evaluated in any order.
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0), {.leaf = leaf_seconds});
    const RowChoice choice = ChooseRows(tree, costs, {.most_rows = 11, .least_gain = 1});
    const double share = Rate(tree.Pick(choice.nodes), costs, 0) / BestRate(tree, costs, 11, 0);
    worst = std::min(worst, share);
    sum += share;
  }
  EXPECT_GT(worst, 0.88);   // Where a leaf costs a third of a pass.
  EXPECT_GT(sum / kTrials, 0.998);
}

TEST(RowPolicy, AStepIsWeighedTogetherWithItsFollowingRows) {
  const CostProfile costs = Costs({0.006, 0.012, 0.012, 0.012, 0.012, 0.012, 0.012, 0.012});
  TokenTree tree(0);
  int node = TokenTree::kRoot;
  for (int i = 1; i < 8; ++i) node = tree.Add(node, i, 0.9f);
  EXPECT_EQ(ChooseRows(tree, costs, {}).nodes.size(), 7u);      // The first alone would not be worth it:
  EXPECT_TRUE(ChooseRows(tree, costs, {.most_rows = 2}).nodes.empty());
}

// As with a streamed model, whose head has to be read for any number of rows.
TEST(RowPolicy, AHeadThatCostsTheSameForManyRowsIsCountedOnce) {
  TokenTree tree(0);
  int node = TokenTree::kRoot;
  for (int i = 1; i < 5; ++i) node = tree.Add(node, i, 0.5f);
  const std::vector<double> pass = {0.006, 0.0068, 0.0076, 0.0084, 0.0092};
  const RowChoice by_row = ChooseRows(tree, Costs(pass, {.head = 0.006, .head_64 = 64 * 0.006}), {});
  const RowChoice once = ChooseRows(tree, Costs(pass, {.head = 0.006, .head_64 = 0.006}), {});
  EXPECT_GT(once.nodes.size(), by_row.nodes.size());
  EXPECT_NEAR(once.seconds, pass[once.nodes.size()] + 0.006, 1e-9);
}

TEST(RowPolicy, NothingIsAnAnswer) {
  TokenTree tree(0);
  tree.Add(TokenTree::kRoot, 1, 0.1f);
  const RowChoice none = ChooseRows(tree, Costs({0.006, 0.0075}), {});
  EXPECT_TRUE(none.nodes.empty());
  EXPECT_EQ(none.tokens, 1);
  EXPECT_NEAR(none.seconds, 0.007, 1e-9);
  EXPECT_EQ(ChooseRows(tree, Costs({0.006, 0.006}), {}).nodes.size(), 1u);   // As where a pass is all reading.
}

TEST(RowPolicy, LogitsAreComputedTogetherWhereThatSaves) {
  TokenTree tree(0);
  int node = TokenTree::kRoot;
  for (int i = 1; i < 5; ++i) node = tree.Add(node, i, 0.5f);
  CostProfile by_row, by_call;
  for (const int rows : {1, 8, 1, 8, 1, 8}) {   // Often enough to be known.
    by_row.AddHead(rows, 0.001 * rows);
    by_call.AddHead(rows, 0.1 + 0.001 * rows);
  }
  EXPECT_EQ(ChooseHeadRows(tree, by_row, 31).first_rows, 1);
  EXPECT_NEAR(ChooseHeadRows(tree, by_row, 31).seconds, 0.001 * (1 + 0.5 + 0.25 + 0.125 + 0.0625), 1e-9);
  EXPECT_EQ(ChooseHeadRows(tree, by_call, 31).first_rows, 5);   // A head that is read from far is read once.
  EXPECT_EQ(ChooseHeadRows(tree, by_call, 3).first_rows, 3);
}

}  // namespace
}  // namespace tessera
