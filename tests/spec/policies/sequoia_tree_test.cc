#include "tessera/spec/policies/sequoia_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/spec/policies/worked_tree.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

using Children = std::vector<std::vector<int>>;

// What a shape gives: one token, and each row as often as its rank and its parent's come.
double TokensOf(const Children& children, const std::vector<double>& shares, int row = 0) {
  double tokens = 1;
  for (size_t rank = 0; rank < children[row].size(); ++rank) tokens += shares[rank] * TokensOf(children, shares, children[row][rank]);
  return tokens;
}

int LevelsOf(const Children& children, int row = 0) {
  int levels = 0;
  for (const int child : children[row]) levels = std::max(levels, LevelsOf(children, child));
  return levels + 1;
}

// The most tokens of all shapes of so many rows: each row below any before it.
double BestTokens(const std::vector<double>& shares, int rows, int levels) {
  double best = 0;
  std::vector<int> parents(rows, 0);
  while (true) {
    Children children(rows);
    bool fits = true;
    for (int row = 1; row < rows; ++row) {
      children[parents[row]].push_back(row);
      fits = fits && children[parents[row]].size() <= shares.size();
    }
    if (fits && LevelsOf(children) <= levels) best = std::max(best, TokensOf(children, shares));
    int row = rows - 1;
    while (row > 0 && ++parents[row] == row) parents[row--] = 0;
    if (row <= 0) return best;
  }
}

TEST(SequoiaTree, HeaderExample) {
  BestShapes shapes({0.6, 0.2}, /*rows=*/8, /*levels=*/4);
  EXPECT_NEAR(shapes.Tokens(4, 3), 2.16, 1e-9);
  EXPECT_EQ(shapes.Shape(4, 3).children, (Children{{1, 2}, {3}, {}, {}}));

  const CostProfile costs = Costs({0.01, 0.0101, 0.0102, 0.0103});
  WorkedDraft draft;
  DraftPool& pool = draft.pool;
  SequoiaTree sequoia({.costs = {.profile = &costs}});
  const auto run = [&]() -> absl::StatusOr<std::vector<TokenId>> {
    ASSIGN_OR_RETURN(const std::vector<int> nodes, sequoia.Grow({.max_nodes = 31}, pool));
    sequoia.Learn(pool.Follow({{1, 4}}));
    return draft.TokensOf(nodes);
  };
  const std::vector<TokenId> tokens = Must(run());
  ASSERT_GE(tokens.size(), 2u);
  EXPECT_EQ(tokens[0], 1);
  EXPECT_GT(sequoia.share(0), sequoia.share(1));
}

TEST(SequoiaTree, NoShapeGivesMore) {
  SeededRandom random(1);
  for (int trial = 0; trial < 8; ++trial) {
    std::vector<double> shares;
    for (int rank = 0; rank < 1 + trial % 3; ++rank) shares.push_back(random.Uniform() / (1 + rank));
    const BestShapes shapes(shares, 6, 5);
    for (int rows = 1; rows <= 6; ++rows) {
      for (int levels = 1; levels <= 5; ++levels) {
        const double best = BestTokens(shares, rows, levels);
        ASSERT_NEAR(shapes.Tokens(rows, levels), best, 1e-9) << rows << " rows, " << levels << " levels";
        if (best == 0) continue;
        const Children children = shapes.Shape(rows, levels).children;
        EXPECT_EQ(static_cast<int>(children.size()), rows);
        EXPECT_LE(LevelsOf(children), levels);
        EXPECT_NEAR(TokensOf(children, shares), best, 1e-9);
      }
    }
  }
}

TEST(SequoiaTree, RowsThatCostMuchMakeASmallTree) {
  const auto size = [](double row) {
    std::vector<double> pass;
    for (int rows = 1; rows <= 32; ++rows) pass.push_back(0.01 + row * (rows - 1));
    const CostProfile costs = Costs(pass);
    TableExpander expander(RandomDistribution(1, 3));
    Must(expander.Begin({0}));
    DraftPool pool(0, expander, {});
    SequoiaTree sequoia({.costs = {.profile = &costs}});
    return Must(sequoia.Grow({.max_nodes = 24}, pool)).size();
  };
  EXPECT_EQ(size(0.0099), 0u);
  EXPECT_GT(size(1e-5), 12u);
  EXPECT_LT(size(1e-3), size(1e-5));
}

// A draft whose second candidate is always right gets trees with second children.
TEST(SequoiaTree, TheShapeFollowsTheAcceptedTokens) {
  const CostProfile costs = Costs({0.01, 0.011, 0.012, 0.013, 0.014});
  SequoiaTree sequoia({.costs = {.profile = &costs}});
  for (int step = 0; step < 400; ++step) {
    WorkedDraft draft;
    Must(sequoia.Grow({.max_nodes = 4}, draft.pool));
    sequoia.Learn(draft.pool.Follow({{2, 6}}));
  }
  EXPECT_GT(sequoia.share(1), 0.9);
  EXPECT_LT(sequoia.share(0), 0.1);
  WorkedDraft draft;
  const std::vector<TokenId> tokens = draft.TokensOf(Must(sequoia.Grow({.max_nodes = 4}, draft.pool)));
  EXPECT_NE(std::find(tokens.begin(), tokens.end(), 2), tokens.end());
  EXPECT_NE(std::find(tokens.begin(), tokens.end(), 6), tokens.end());
}

TEST(SequoiaTree, ADraftThatHasFewerCandidatesFillsLess) {
  const CostProfile costs = Costs(std::vector<double>(12, 0.01));
  WorkedDraft draft;
  SequoiaTree sequoia({.costs = {.profile = &costs}});
  const std::vector<int> nodes = Must(sequoia.Grow({.max_nodes = 11, .max_depth = 5}, draft.pool));
  EXPECT_LE(nodes.size(), 7u);
  EXPECT_EQ(draft.pool.tree().Pick(nodes).size(), static_cast<int>(nodes.size()) + 1);
}

TEST(SequoiaTree, NothingIsDraftedWhileNothingIsKnown) {
  WorkedDraft draft;
  EXPECT_TRUE(Must(SequoiaTree({}).Grow({.max_nodes = 11}, draft.pool)).empty());
  EXPECT_EQ(draft.pool.passes(), 0);
}

}  // namespace
}  // namespace tessera
