// The rules are worked out on the draft of worked_tree.h.
#include "tessera/spec/policies/ranked_trees.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/spec/policies/worked_tree.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

TEST(RankedTrees, HeaderExample) {
  WorkedDraft draft;
  DraftPool& pool = draft.pool;
  OptTree opt({.nodes = 50, .threshold = 0.5});
  Eagle2Tree eagle({.width = 10, .depth = 7, .nodes = 59});
  const auto run = [&]() -> absl::StatusOr<Tokens> {
    ASSIGN_OR_RETURN(const std::vector<int> nodes, eagle.Grow({.max_nodes = 59}, pool));
    return draft.TokensOf(nodes);
  };
  const Tokens tokens = Must(run());
  EXPECT_EQ(tokens.size(), 7u);   // All that there is.
  EXPECT_EQ(tokens.back(), 6);
  EXPECT_EQ(eagle.candidates(), 10);
}

// E after one level is 0.6 + 0.35; after two 0.6 + 0.35 + 0.315, 0.315 more; after three as much.
TEST(RankedTrees, OptTreeStopsOnceALevelAddsLittle) {
  const auto grow = [](const OptTree::Options& options, const DraftBudget& budget, int64_t& passes) {
    WorkedDraft draft;
    OptTree policy(options);
    const Tokens tokens = draft.TokensOf(Must(policy.Grow(budget, draft.pool)));
    passes = draft.pool.passes();
    return tokens;
  };
  int64_t passes = 0;
  EXPECT_EQ(grow({.nodes = 3, .threshold = 0.5}, {.max_nodes = 31}, passes), (Tokens{1, 2, 5}));
  EXPECT_EQ(passes, 2);
  EXPECT_EQ(grow({.nodes = 3, .threshold = 0.2}, {.max_nodes = 31}, passes), (Tokens{1, 2, 5}));
  EXPECT_EQ(passes, 3);
  EXPECT_EQ(grow({.nodes = 3, .threshold = 0.96}, {.max_nodes = 31}, passes), (Tokens{1, 2}));
  EXPECT_EQ(passes, 1);
  EXPECT_EQ(grow({.nodes = 3, .threshold = 0.2, .depth = 1}, {.max_nodes = 31}, passes), (Tokens{1, 2}));
  EXPECT_EQ(grow({.nodes = 50, .threshold = 0.2}, {.max_nodes = 2}, passes), (Tokens{1, 2}));
  EXPECT_EQ(grow({.nodes = 50}, {.max_nodes = 0}, passes), Tokens());
  EXPECT_EQ(passes, 0);
}

// Width 1 sees one chain, width 2 all that the draft has but nothing below 4 and 6.
TEST(RankedTrees, Eagle2ExpandsTheBestOfALevelAndKeepsTheBestOfAll) {
  const auto grow = [](const Eagle2Tree::Options& options, const DraftBudget& budget, std::vector<int>& batches) {
    WorkedDraft draft;
    Eagle2Tree policy(options);
    const Tokens tokens = draft.TokensOf(Must(policy.Grow(budget, draft.pool)));
    batches = draft.expander.batches();
    return tokens;
  };
  std::vector<int> batches;
  EXPECT_EQ(grow({.width = 2, .depth = 1, .nodes = 4}, {.max_nodes = 31}, batches), (Tokens{1, 2, 5, 3}));
  EXPECT_EQ(batches, (std::vector<int>{1, 2}));
  EXPECT_EQ(grow({.width = 2, .depth = 2, .nodes = 6}, {.max_nodes = 31}, batches), (Tokens{1, 2, 5, 3, 4, 7}));
  EXPECT_EQ(batches, (std::vector<int>{1, 2, 2}));                 // 5 and 3 are the best of their level.
  EXPECT_EQ(grow({.width = 1, .depth = 2, .nodes = 6}, {.max_nodes = 31}, batches), (Tokens{1, 3, 7}));
  EXPECT_EQ(grow({.width = 2, .depth = 2, .nodes = 6}, {.max_nodes = 31, .max_depth = 1}, batches), (Tokens{1, 2}));
  EXPECT_EQ(grow({}, {.max_nodes = 0}, batches), Tokens());
}

}  // namespace
}  // namespace tessera
