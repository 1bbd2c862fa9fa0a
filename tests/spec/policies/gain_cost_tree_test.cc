#include "tessera/spec/policies/gain_cost_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/tests/fakes/all_cuts.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/table_expander.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

constexpr TokenId kRootToken = 0;

// One cycle after the root alone.
struct Grown {
  TokenTree tree = TokenTree(kRootToken);
  std::vector<int> batches = {};
  GainCostTree::Expected expected = {};
};

Grown Grow(const DraftDistribution& distribution, const TableExpander::Times& times, const GainCostTree::Options& options,
           const DraftBudget& budget,
           const Reliability* reliability = nullptr) {
  TableExpander expander(distribution, times);
  Must(expander.Begin({kRootToken}));
  DraftPool pool(kRootToken, expander, {.candidates = 3, .reliability = reliability});
  GainCostTree lever(options);
  const std::vector<int> nodes = Must(lever.Grow(budget, pool));
  return {pool.tree().Pick(nodes), expander.batches(), lever.expected()};
}

double Rate(const TokenTree& tree, const CostProfile& costs, double other_seconds) {
  double tokens = 0;
  for (const float probability : tree.PathProbabilities()) tokens += probability;
  return tokens / (other_seconds + costs.PassSeconds({tree.size(), tree.Leaves()}) + tokens * costs.HeadSeconds(1));
}

double BestRate(const TokenTree& whole, const CostProfile& costs, int max_nodes, double other_seconds) {
  double best = 0;
  for (const std::vector<int>& nodes : AllCuts(whole)) {
    if (static_cast<int>(nodes.size()) <= max_nodes) best = std::max(best, Rate(whole.Pick(nodes), costs, other_seconds));
  }
  return best;
}

// A chain of tokens 1, 2, ..., each with this probability.
DraftDistribution Chain(float probability) {
  return [probability](absl::Span<const TokenId> text) { return TopTokens{{text.back() + 1, probability}}; };
}

TEST(GainCostTree, HeaderExample) {
  const CostProfile costs = Costs({0.006, 0.0065, 0.007, 0.0075});
  const Reliability reliability({});
  TableExpander expander(Chain(0.9f), {.pass = 0.0001});
  Must(expander.Begin({kRootToken}));
  GainCostTree lever({.costs = {.profile = &costs}});
  DraftPool pool(kRootToken, expander, {.reliability = &reliability});
  const absl::StatusOr<std::vector<int>> nodes = lever.Grow({.max_nodes = 31}, pool);
  ASSERT_TRUE(nodes.ok());
  EXPECT_GT(nodes->size(), 3u);
  const double rate = lever.expected().tokens / lever.expected().seconds;
  EXPECT_NEAR(rate, Rate(pool.tree().Pick(*nodes), costs, pool.seconds()), 1e-3 * rate);
  EXPECT_GT(rate, 1 / 0.007);
}

// Whatever the steps of the cost, if leaves and drafting cost nothing.
TEST(GainCostTree, NoTreeGivesMoreTokensASecond) {
  SeededRandom random(1);
  for (int trial = 0; trial < 80; ++trial) {
    const DraftDistribution distribution = RandomDistribution(random.Next(), trial % 3 == 0 ? 3 : 2);
    const int depth = trial % 3 == 0 ? 2 : 3;
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0, 16));
    const double io = trial % 4 == 0 ? 0.02 : 0;
    const int max_nodes = 1 + static_cast<int>(random.Below(12));
    const Grown grown = Grow(distribution, {}, {.costs = {&costs, io}, .optimistic = true}, {max_nodes, depth});
    EXPECT_LE(grown.tree.size() - 1, max_nodes);
    EXPECT_LE(grown.tree.Depth(), depth);
    const double best = BestRate(WholeTree(distribution, kRootToken, depth), costs, max_nodes, io);
    EXPECT_NEAR(Rate(grown.tree, costs, io) / best, 1, 1e-5) << trial;
    EXPECT_NEAR(grown.expected.tokens / grown.expected.seconds / best, 1, 1e-5) << trial;
  }
}

// Where each row costs as much as the one before or more, the first node that does not pay ends it, as in the paper.
TEST(GainCostTree, WithoutStepsThePapersRuleIsAsGood) {
  SeededRandom random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const DraftDistribution distribution = RandomDistribution(random.Next(), 2);
    std::vector<double> pass = {0.006};
    for (double more = 1e-5; pass.size() < 16; more += 1e-5 * static_cast<double>(random.Below(20))) pass.push_back(pass.back() + more);
    const CostProfile costs = Costs(pass);
    const Grown grown = Grow(distribution, {}, {.costs = {&costs}, .blocks = false, .optimistic = true}, {14, 3});
    EXPECT_NEAR(Rate(grown.tree, costs, 0) / BestRate(WholeTree(distribution, kRootToken, 3), costs, 14, 0), 1, 1e-5) << trial;
  }
}

TEST(GainCostTree, AStepIsWeighedTogetherWithItsFollowingRows) {
  const CostProfile costs = Costs({0.006, 0.012, 0.012, 0.012, 0.012, 0.012, 0.012, 0.012});
  const DraftBudget budget = {.max_nodes = 7, .max_depth = 7};
  EXPECT_EQ(Grow(Chain(0.9f), {}, {.costs = {&costs}}, budget).tree.size(), 8);
  EXPECT_EQ(Grow(Chain(0.9f), {}, {.costs = {&costs}, .blocks = false}, budget).tree.size(), 1);   // The first alone is not worth it.
  EXPECT_EQ(Grow(Chain(0.9f), {}, {.costs = {&costs}}, {.max_nodes = 1, .max_depth = 7}).tree.size(), 1);
}

TEST(GainCostTree, WithPricesOfLeavesAndDraftsTheTreeIsNearTheBest) {
  SeededRandom random(3);
  double sum = 0, worst = 1;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    const DraftDistribution distribution = RandomDistribution(random.Next(), 2);
    const double leaf = 1e-5 * static_cast<double>(random.Below(60)), row = 1e-6 * static_cast<double>(random.Below(100));
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0, 16), {.leaf = leaf});
    const Grown grown = Grow(distribution, {.pass = row, .row = row}, {.costs = {&costs}}, {14, 3});
    // The best of all trees, were they known without drafting.
    const double share = Rate(grown.tree, costs, 0) / BestRate(WholeTree(distribution, kRootToken, 3), costs, 14, 0);
    worst = std::min(worst, share);
    sum += share;
  }
  EXPECT_GT(worst, 0.95);
  EXPECT_GT(sum / kTrials, 0.99);
}

TEST(GainCostTree, MoreReadingMakesLargerTrees) {
  std::vector<double> pass;
  for (int rows = 1; rows <= 32; ++rows) pass.push_back(0.001 + 0.0005 * rows);
  const CostProfile costs = Costs(pass);
  int before = 0;
  for (const double io : {0.0, 0.01, 0.1, 1.0}) {
    const int size = Grow(RandomDistribution(7, 3), {}, {.costs = {&costs, io}}, {31, 12}).tree.size();
    EXPECT_GE(size, before) << io;
    before = size;
  }
  EXPECT_EQ(before, 32);
  EXPECT_LT(Grow(RandomDistribution(7, 3), {}, {.costs = {&costs}}, {31, 12}).tree.size(), 16);
}

TEST(GainCostTree, ADearDraftIsAskedLess) {
  const CostProfile costs = Costs({0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1});
  size_t before = 100;
  for (const double seconds : {0.0, 0.005, 0.05, 5.0}) {
    const size_t passes = Grow(Chain(0.8f), {.pass = seconds}, {.costs = {&costs}}, {11, 11}).batches.size();
    EXPECT_LE(passes, before);
    before = passes;
  }
  EXPECT_EQ(before, 0u);
}

TEST(GainCostTree, NarrowLevelsGoRowByRowAndWideOnesTogether) {
  std::vector<double> pass(32, 1.0);
  const CostProfile costs = Costs(pass);
  const DraftBudget budget = {.max_nodes = 31, .max_depth = 6};
  const std::vector<int> by_row = Grow(RandomDistribution(3, 3), {.pass = 0, .row = 0.004}, {.costs = {&costs}}, budget).batches;
  const std::vector<int> together = Grow(RandomDistribution(3, 3), {.pass = 0.004, .row = 1e-6}, {.costs = {&costs}}, budget).batches;
  EXPECT_EQ(*std::max_element(by_row.begin(), by_row.end()), 1);
  EXPECT_EQ(together[0], 1);
  EXPECT_GT(*std::max_element(together.begin(), together.end()), 3);
  EXPECT_LT(together.size(), by_row.size());
}

TEST(GainCostTree, AnUnreliableDraftGetsSmallerTrees) {
  std::vector<double> pass;
  for (int rows = 1; rows <= 32; ++rows) pass.push_back(0.01 + 0.001 * rows);
  const CostProfile costs = Costs(pass);
  Reliability unreliable({});
  for (int i = 0; i < 200; ++i) unreliable.Learn(1, {{7, 0.5f}}, TokenTree::kNone);
  const Grown trusted = Grow(RandomDistribution(5, 3), {}, {.costs = {&costs}}, {31, 12});
  const Grown doubted = Grow(RandomDistribution(5, 3), {}, {.costs = {&costs}}, {31, 12}, &unreliable);
  EXPECT_LT(doubted.tree.size(), trusted.tree.size());
}

TEST(GainCostTree, NothingIsDraftedWhileNothingIsKnownOrThereIsNoRoom) {
  const CostProfile nothing, costs = Costs({0.01, 0.01, 0.01});
  for (const Grown& grown : {Grow(Chain(0.9f), {}, {}, {7, 7}), Grow(Chain(0.9f), {}, {.costs = {&nothing}}, {7, 7}),
                             Grow(Chain(0.9f), {}, {.costs = {&costs}}, {0, 7}), Grow(Chain(0.9f), {}, {.costs = {&costs}}, {7, 0})}) {
    EXPECT_EQ(grown.tree.size(), 1);
    EXPECT_TRUE(grown.batches.empty());
  }
}

TEST(GainCostTree, AnUnprofitableDraftIsTriedAgain) {
  const CostProfile costs = Costs({0.01, 0.0195, 0.029});
  TableExpander expander(Chain(0.2f), {.pass = 0.0001});
  Must(expander.Begin({kRootToken}));
  GainCostTree lever({.costs = {.profile = &costs}});
  size_t passes = 0, longest = 0, idle = 0;
  for (int step = 0; step < 200; ++step) {
    DraftPool pool(expander.text().back(), expander, {});
    Must(lever.Grow({.max_nodes = 2}, pool));
    Must(expander.Commit(pool.tree(), {{1}}));
    idle = expander.batches().size() == passes ? idle + 1 : 0;
    passes = expander.batches().size();
    longest = std::max(longest, idle);
  }
  EXPECT_EQ(longest, static_cast<size_t>(GainCostTree::kTrial));
  EXPECT_LT(passes, 60u);
}

TEST(GainCostTree, AnErrorOfTheDraftIsItsOwn) {
  const CostProfile costs = Costs({0.01, 0.01});
  TableExpander expander(Chain(0.9f));
  Must(expander.Begin({kRootToken}));
  expander.fail_expand = absl::DataLossError("a block is gone");
  DraftPool pool(kRootToken, expander, {});
  EXPECT_EQ(GainCostTree({.costs = {.profile = &costs}}).Grow({.max_nodes = 3}, pool).status(), expander.fail_expand);
}

}  // namespace
}  // namespace tessera
