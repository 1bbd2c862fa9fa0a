#include "tessera/spec/drafters/forecast_drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// Tokens first, first + 1, ..., less and less likely.
TopTokens Said(TokenId first, int count) {
  TopTokens top;
  for (int i = 0; i < count; ++i) top.push_back({first + i, 0.5f / static_cast<float>(1 + i)});
  return top;
}

// The model said this token after a root alone, whose forecasts said that.
void CommitOne(ForecastDrafter& drafter, TokenId root, TokenId emitted, std::vector<TopTokens> ahead) {
  drafter.Commit(TokenTree(root), {.path = {0}, .emitted = {emitted}, .ahead = std::move(ahead)});
}

std::vector<std::pair<int, TokenId>> Nodes(const TokenTree& tree) {
  std::vector<std::pair<int, TokenId>> nodes;
  for (int node = 1; node < tree.size(); ++node) nodes.emplace_back(tree[node].parent, tree[node].token);
  return nodes;
}

TEST(ForecastDrafter, HeaderExample) {
  const std::shared_ptr<const PlacedForecasts> placed;   // Verdicts come without passes here.
  ForecastDrafter drafter(placed, {.forecasts = 3});
  const std::vector<TokenId> text = {4, 5, 6};
  drafter.Begin(text);
  EXPECT_EQ(drafter.needs().forecast_rows, 4 - 1);
  EXPECT_EQ(drafter.forecasts(), nullptr);
  TokenTree tree(7);
  const Verdict verdict = {.path = {0}, .emitted = {7}, .ahead = {Said(20, 15), Said(40, 15), Said(60, 15)}};
  const auto run = [&]() -> absl::Status {
    drafter.Commit(tree, verdict);
    RETURN_IF_ERROR(drafter.Propose({.max_nodes = 31}, tree));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(drafter.choice(), "3,2");   // The paper's example, as long as nothing is known.
  EXPECT_EQ(Nodes(tree), (std::vector<std::pair<int, TokenId>>{{0, 20}, {0, 21}, {0, 22}, {1, 40}, {1, 41}, {2, 40}, {2, 41}, {3, 40},
                                                               {3, 41}}));
  EXPECT_FLOAT_EQ(tree[2].probability, 0.25f);
  EXPECT_EQ(tree[9].depth, 2);
}

TEST(ForecastDrafter, ProposesNothingWithoutForecasts) {
  ForecastDrafter drafter(nullptr, {.forecasts = 2, .branches = {2, 2}});
  drafter.Begin({{1}});
  const auto proposed = [&](const DraftBudget& budget = {.max_nodes = 31}) {
    TokenTree tree(1);
    Must(drafter.Propose(budget, tree));
    return tree.size() - 1;
  };
  EXPECT_EQ(proposed(), 0);
  CommitOne(drafter, 1, 2, {Said(10, 2), Said(20, 2)});
  EXPECT_EQ(proposed(), 6);
  EXPECT_EQ(proposed({.max_nodes = 4}), 4);
  EXPECT_EQ(proposed({.max_nodes = 31, .max_depth = 1}), 2);
  EXPECT_EQ(proposed({.max_nodes = 0}), 0);
  drafter.Commit(TokenTree(2), {});   // The pass failed.
  EXPECT_EQ(proposed(), 6);
  CommitOne(drafter, 2, 3, {});
  EXPECT_EQ(proposed(), 0);
  CommitOne(drafter, 3, 4, {Said(10, 2)});   // Fewer forecasts than branches.
  EXPECT_EQ(proposed(), 2);
  CommitOne(drafter, 4, 5, {TopTokens(), Said(20, 2)});   // What it said was no number.
  EXPECT_EQ(proposed(), 0);
  drafter.Begin({{1}});
  EXPECT_EQ(proposed(), 0);
}

TEST(ForecastDrafter, CandidatesFollowTheDepth) {
  ForecastDrafter drafter(nullptr, {.forecasts = 2, .branches = {1, 1}});
  drafter.Begin({{1}});
  CommitOne(drafter, 1, 2, {Said(10, 3), Said(20, 2)});
  EXPECT_EQ(drafter.Candidates({}).size(), 3u);
  ASSERT_EQ(drafter.Candidates({{10}}).size(), 2u);
  EXPECT_EQ(drafter.Candidates({{12}})[1].token, 21);
  EXPECT_TRUE(drafter.Candidates({{10, 20}}).empty());
}

// What a task is like: how often the next tokens are among the best so many of each forecast.
struct Task {
  std::vector<double> first;    // [forecast]: that the best is right,
  std::vector<double> among;    // and that one of the first `ranks` is.
  std::vector<int> ranks;
};

// Steps of one token each, whose roots all have forecasts.
void WriteTask(const Task& task, int steps, uint64_t seed, ForecastDrafter& drafter) {
  SeededRandom random(seed);
  const size_t forecasts = task.first.size();
  std::vector<std::vector<TopTokens>> made;   // By step.
  for (int step = 0; step < steps; ++step) {
    const auto each = static_cast<size_t>(drafter.needs().forecast_rows);
    std::vector<TopTokens> ahead;
    for (size_t k = 0; k < std::min(each, forecasts); ++k) {
      const double drawn = random.Uniform();
      const TokenId right = 1000 + step + static_cast<int>(k) + 1;   // The text is 1000, 1001, ...
      const int rank = drawn < task.first[k] ? 0 : drawn < task.among[k] ? 1 + static_cast<int>(random.Below(task.ranks[k] - 1)) : 99;
      TopTokens top;
      for (int i = 0; i < drafter.needs().top_of_forecasts; ++i) top.push_back({i == rank ? right : i, 0.1f});
      ahead.push_back(std::move(top));
    }
    CommitOne(drafter, 999 + step, 1000 + step, std::move(ahead));
  }
}

// Table 7 of the one-for-all paper: tasks differ in what is best for them.
TEST(ForecastDrafter, ChoosesTheBranchesThatWouldHaveBeenAccepted) {
  const std::pair<Task, std::string> tasks[] = {
      {{{0.1, 0.1, 0.1}, {0.9, 0.1, 0.1}, {15, 2, 2}}, "15"},               // The next token is among many, the others are unknown.
      {{{0.95, 0.9, 0.9}, {0.96, 0.95, 0.95}, {2, 2, 2}}, "1,2,2"},         // Nearly sure.
      {{{0.9, 0.1, 0.0}, {0.91, 0.9, 0.0}, {2, 8, 2}}, "1,8"}};
  for (const auto& [task, expected] : tasks) {
    ForecastDrafter drafter(nullptr, {.forecasts = 3});
    drafter.Begin({{1}});
    WriteTask(task, 400, 7, drafter);
    EXPECT_EQ(drafter.choice(), expected);
    for (const ForecastDrafter::Measured& one : drafter.configurations()) EXPECT_GT(one.count, 20) << BranchesText(one.branches);
  }
}

// The same from one text to the next, and of more in one pass; and a task that changes.
TEST(ForecastDrafter, MeansMoveWithTheText) {
  ForecastDrafter drafter(nullptr, {.forecasts = 3});
  drafter.Begin({{1}});
  WriteTask({{0.1, 0.1, 0.1}, {0.9, 0.1, 0.1}, {15, 2, 2}}, 300, 7, drafter);
  EXPECT_EQ(drafter.choice(), "15");
  drafter.Begin({{1}});
  EXPECT_EQ(drafter.choice(), "15");
  WriteTask({{0.95, 0.9, 0.9}, {0.96, 0.95, 0.95}, {2, 2, 2}}, 1500, 8, drafter);
  EXPECT_EQ(drafter.choice(), "1,2,2");
}

TEST(ForecastDrafter, AcceptedTokensOfOnePassAreLearntTokenByToken) {
  ForecastDrafter drafter(nullptr, {.forecasts = 2, .branches = {2, 2}});
  drafter.Begin({{1}});
  const double before = drafter.needs().forecast_tokens;
  CommitOne(drafter, 1, 2, {Said(10, 2), Said(20, 2)});
  EXPECT_EQ(drafter.configurations()[0].count, 0) << "nothing is known of it yet";
  TokenTree tree(2);
  tree.Add(tree.Add(TokenTree::kRoot, 11, 0.5f), 20, 0.5f);
  drafter.Commit(tree, {.path = {0, 1, 2}, .emitted = {11, 20, 5}});
  EXPECT_EQ(drafter.configurations()[0].count, 1);
  EXPECT_NEAR(drafter.needs().forecast_tokens, before + (2 - before) / 5, 1e-9);   // The assumption weighs as much as four.
}

TEST(ForecastDrafter, AfterLongWithoutForecastsAnotherTryIsMade) {
  ForecastDrafter drafter(nullptr, {.forecasts = 1, .branches = {1}});
  drafter.Begin({{1}});
  for (int i = 0; i < 200; ++i) CommitOne(drafter, 1, 2, {Said(50, 1)});   // Never right.
  EXPECT_LT(drafter.needs().forecast_tokens, 0.1);
  for (int i = 0; i < 63; ++i) CommitOne(drafter, 1, 2, {});
  EXPECT_LT(drafter.needs().forecast_tokens, 0.1);
  CommitOne(drafter, 1, 2, {});
  EXPECT_EQ(drafter.needs().forecast_tokens, 1);
  CommitOne(drafter, 1, 2, {Said(50, 1)});
  EXPECT_LT(drafter.needs().forecast_tokens, 0.1);
}

TEST(ForecastDrafter, MemoryIsWithinItsBound) {
  const ForecastDrafter::Options options = {.forecasts = 4};
  ForecastDrafter drafter(nullptr, options);
  drafter.Begin({{1}});
  WriteTask({{0.5, 0.5, 0.5, 0.5}, {0.9, 0.9, 0.9, 0.9}, {9, 9, 9, 9}}, 100, 3, drafter);
  EXPECT_GT(drafter.bytes(), 0);
  EXPECT_LE(drafter.bytes(), ForecastDrafter::MostBytes(options));
}

// Costs of a machine on which rows take next to nothing.
CostProfile FreeRows() {
  CostProfile costs;
  for (const int rows : {1, 32}) costs.AddPass({.rows = rows}, 1 + 1e-6 * rows);
  for (const int rows : {1, 32}) costs.AddHead(rows, 1e-6 * rows);
  costs.Freeze();
  return costs;
}

// What a speculator makes of it: rows beside the nodes, which are counted, and charged to this drafter.
TEST(ForecastDrafter, ASpeculatorPlacesAndCountsForecasts) {
  CostProfile costs = FreeRows();
  Speculator speculator(std::make_unique<ForecastDrafter>(nullptr, ForecastDrafter::Options{.forecasts = 2, .branches = {3, 2}}),
                        {.costs = &costs});
  speculator.Begin({{1}});
  const auto step = [&](std::vector<TopTokens> ahead, TokenId emitted) {
    const TokenTree& draft = speculator.Draft({.rows = 32, .depth = 100});
    RowChoice choice = ChooseRows(draft, costs, {.most_rows = 32});
    speculator.AddForecasts({.rows = 32, .depth = 100}, choice);
    const TokenTree tree = speculator.Choose(choice);
    EXPECT_EQ(choice.shape().rows, tree.size() + static_cast<int>(speculator.forecast_nodes().size()) * speculator.forecasts_each());
    speculator.Commit(tree, {.path = {0}, .emitted = {emitted}, .ahead = std::move(ahead)}, {.pass_seconds = 1, .ahead_rows = 2});
    return std::pair(tree.size(), static_cast<int>(speculator.forecast_nodes().size()));
  };
  EXPECT_EQ(step({Said(10, 3), Said(20, 3)}, 2), std::pair(1, 1)) << "the root and its forecasts";
  EXPECT_EQ(step({}, 10), std::pair(10, 10)) << "30 rows, as in the paper";
  EXPECT_EQ(step({}, 3), std::pair(1, 1));
  const SpeculationReport report = speculator.report();
  EXPECT_EQ(report.rows, 3 + 30 + 3);
  EXPECT_EQ(report.forecast_rows, 2 + 20 + 2);
  EXPECT_EQ(report.forecast_head_rows, 6);
  EXPECT_EQ(report.Choices(), "forecasts: 3,2");
}

// On a machine where rows cost as much as passes it is soon paused, and then no row is a forecast.
TEST(ForecastDrafter, APausedOneGetsNoForecasts) {
  CostProfile costs;
  for (const int rows : {1, 1, 1, 32, 32, 32}) costs.AddPass({.rows = rows}, rows);
  for (const int rows : {1, 32}) costs.AddHead(rows, 1e-3 * rows);
  costs.Freeze();
  Speculator speculator(std::make_unique<ForecastDrafter>(nullptr, ForecastDrafter::Options{.forecasts = 1, .branches = {1}}),
                        {.weigh_costs = true, .costs = &costs});
  speculator.Begin({{1}});
  for (int i = 0; i < 100; ++i) {
    RowChoice choice = ChooseRows(speculator.Draft({.rows = 32, .depth = 100}), costs, {.most_rows = 32});
    speculator.AddForecasts({.rows = 32, .depth = 100}, choice);
    const TokenTree tree = speculator.Choose(choice);
    std::vector<TopTokens> ahead(speculator.forecast_nodes().size(), Said(50, 1));
    speculator.Commit(tree, {.path = {0}, .emitted = {2}, .ahead = std::move(ahead)}, {.pass_seconds = 1});
  }
  EXPECT_LT(speculator.report().forecast_rows, 20);
}

}  // namespace
}  // namespace tessera
