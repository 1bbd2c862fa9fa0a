#include "tessera/spec/policies/forecast_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

using Nodes = std::vector<int>;

// A pass whose rows all cost the same, and a head that costs nothing.
CostProfile CostsPerRow(double row_seconds) {
  CostProfile costs;
  for (const int rows : {1, 512}) costs.AddPass({.rows = rows}, 1 + row_seconds * rows);
  for (const int rows : {1, 32}) costs.AddHead(rows, 1e-9);
  costs.Freeze();
  return costs;
}

// All nodes of a draft, as a choice.
RowChoice Whole(const TokenTree& draft) {
  RowChoice choice;
  for (int node = 1; node < draft.size(); ++node) choice.nodes.push_back(node);
  const std::vector<float> reached = draft.PathProbabilities();
  std::stable_sort(choice.nodes.begin(), choice.nodes.end(), [&](int a, int b) { return reached[a] > reached[b]; });
  for (const int node : choice.nodes) choice.tokens += reached[node];
  choice.leaves = draft.Leaves();
  choice.seconds = 2;
  return choice;
}

TEST(ForecastRows, HeaderExample) {
  TokenTree draft(7);
  draft.Add(TokenTree::kRoot, 1, 0.9f);
  const CostProfile costs = CostsPerRow(1e-6);
  RowChoice choice = ChooseRows(draft, costs, {.most_rows = 32});
  ASSERT_EQ(choice.nodes, Nodes({1}));
  AddForecasts(draft, costs, {.rows_each = 2, .most_rows = 32, .most_depth = 100, .tokens = 1.3}, choice);
  EXPECT_EQ(choice.forecasts, Nodes({0, 1}));
  EXPECT_EQ(choice.forecast_rows, 2);
  EXPECT_EQ(choice.tree_rows(), 2);
  EXPECT_EQ(choice.shape().rows, 6);
}

// The text stops at the root with probability 0.3, at node 1 with 0.2, at node 2 with 0.1, at node 3 with 0.4.
TEST(ForecastRows, NodesWhereTheTextStopsMostProbablyComeFirst) {
  TokenTree draft(7);
  const int likely = draft.Add(TokenTree::kRoot, 1, 0.6f), other = draft.Add(TokenTree::kRoot, 2, 0.1f);
  const int below = draft.Add(likely, 3, 2 / 3.0f);
  const ForecastLimits limits = {.rows_each = 3, .most_depth = 10, .tokens = 2, .weigh_costs = false};
  for (const auto& [rows, expected] : {std::pair(4, Nodes()), {7, Nodes({below})}, {10, Nodes({0, below})}, {13, Nodes({0, likely, below})},
                                       {16, Nodes({0, likely, other, below})}, {99, Nodes({0, likely, other, below})}}) {
    RowChoice choice = Whole(draft);
    ForecastLimits some = limits;
    some.most_rows = rows, some.tokens = 0.01;   // So little that no node goes for them.
    AddForecasts(draft, CostProfile(), some, choice);
    EXPECT_EQ(choice.forecasts, expected) << rows;
    EXPECT_EQ(choice.nodes.size(), 3u);
    EXPECT_LE(choice.shape().rows, rows);
  }
  RowChoice shallow = Whole(draft);
  ForecastLimits few = limits;
  few.most_rows = 99, few.most_depth = 1, few.tokens = 0.01;
  AddForecasts(draft, CostProfile(), few, shallow);
  EXPECT_EQ(shallow.forecasts, Nodes({0, likely, other}));
}

// Two of four rows may be forecasts of the root, where the text stops with probability 0.6: they are expected to bring 0.42 tokens, and the
// two nodes that go for them 0.3.
TEST(ForecastRows, NodesThatBringLessGoForThem) {
  TokenTree draft(7);
  for (const auto& [token, probability] : {std::pair(1, 0.4f), {2, 0.2f}, {3, 0.1f}}) draft.Add(TokenTree::kRoot, token, probability);
  RowChoice choice = Whole(draft);
  AddForecasts(draft, CostProfile(), {.rows_each = 2, .most_rows = 4, .most_depth = 9, .tokens = 0.7, .weigh_costs = false}, choice);
  EXPECT_EQ(choice.forecasts, Nodes({0}));
  EXPECT_EQ(choice.nodes, Nodes({1}));
  EXPECT_NEAR(choice.tokens, 1.4, 1e-6);
  EXPECT_EQ(choice.leaves, 1);
  RowChoice kept = Whole(draft);
  AddForecasts(draft, CostProfile(), {.rows_each = 2, .most_rows = 4, .most_depth = 9, .tokens = 0.1, .weigh_costs = false}, kept);
  EXPECT_TRUE(kept.forecasts.empty());
  EXPECT_EQ(kept.nodes.size(), 3u);
}

// A choice of 1 token in 2 seconds: a row of 0.1 seconds has to bring 0.05 tokens.
TEST(ForecastRows, RowsThatCostMoreThanTheirGainGetNoForecasts) {
  const TokenTree draft(7);
  for (const auto& [row_seconds, tokens, expected] : {std::tuple(0.1, 0.11, true), {0.1, 0.09, false}, {1e-6, 0.09, true}}) {
    RowChoice choice = {.seconds = 2};
    AddForecasts(draft, CostsPerRow(row_seconds), {.rows_each = 2, .most_rows = 32, .most_depth = 9, .tokens = tokens}, choice);
    EXPECT_EQ(!choice.forecasts.empty(), expected) << row_seconds << " " << tokens;
  }
}

// What counts, as the header has it, over all prefixes of the choice and all sets of nodes.
double BestValue(const TokenTree& draft, const CostProfile& costs, const ForecastLimits& limits, const RowChoice& choice) {
  const std::vector<float> reached = draft.PathProbabilities();
  const double lambda = choice.tokens / choice.seconds;
  double best = -1e300;
  for (size_t kept = 0; kept <= choice.nodes.size(); ++kept) {
    Nodes nodes = {0};
    nodes.insert(nodes.end(), choice.nodes.begin(), choice.nodes.begin() + static_cast<long>(kept));
    for (unsigned set = 0; set < 1u << nodes.size(); ++set) {
      double tokens = 0, stops = 0;
      int count = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        double stop = reached[nodes[i]];
        tokens += stop;
        for (const int child : nodes) stop -= child != 0 && draft[child].parent == nodes[i] ? reached[child] : 0;
        if ((set >> i & 1) == 0) continue;
        stops += stop, ++count;
      }
      const int rows = static_cast<int>(nodes.size()) + count * limits.rows_each;
      if (rows > limits.most_rows) continue;
      const double value = tokens + (limits.tokens - lambda * costs.HeadSeconds(limits.rows_each)) * stops -
                           lambda * costs.PassSeconds({.rows = rows, .leaves = 1});
      best = std::max(best, value);
    }
  }
  return best;
}

TEST(ForecastRows, NoOtherNodesAndForecastsAreBetter) {
  SeededRandom random(5);
  int some = 0, fewer = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const TokenTree draft = RandomTree(static_cast<int>(random.Below(7)), random);
    const CostProfile costs = CostsPerRow(random.Uniform() * 0.1);   // Leaves cost nothing.
    const ForecastLimits limits = {.rows_each = 1 + static_cast<int>(random.Below(3)), .most_rows = 8 + static_cast<int>(random.Below(8)),
                                   .most_depth = 99, .tokens = random.Uniform()};
    const RowChoice before = Whole(draft);
    RowChoice choice = before;
    AddForecasts(draft, costs, limits, choice);
    if (choice.forecasts.empty()) continue;
    ++some;
    fewer += choice.nodes.size() < before.nodes.size() ? 1 : 0;
    double stops = 0;
    const std::vector<float> reached = draft.PathProbabilities();
    for (const int node : choice.forecasts) {
      stops += reached[node];
      for (const int child : choice.nodes) stops -= draft[child].parent == node ? reached[child] : 0;
    }
    const double lambda = before.tokens / before.seconds;
    const double value = choice.tokens + (limits.tokens - lambda * costs.HeadSeconds(limits.rows_each)) * stops -
                         lambda * costs.PassSeconds({.rows = choice.shape().rows, .leaves = 1});
    EXPECT_NEAR(value, BestValue(draft, costs, limits, before), 1e-5) << trial;
  }
  EXPECT_GT(some, 50);
  EXPECT_GT(fewer, 5);
}

}  // namespace
}  // namespace tessera
