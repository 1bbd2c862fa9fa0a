// The rules are worked out on the draft of worked_tree.h.
#include "tessera/spec/policies/fixed_trees.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/spec/policies/worked_tree.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

TEST(FixedTrees, HeaderExample) {
  WorkedDraft draft;
  DraftPool& pool = draft.pool;
  ChainTree chain({.tokens = 8});
  ThresholdTree edgellm({.threshold = 0.1});
  WidthsTree specinfer({.widths = {4, 2, 1}});
  const auto run = [&]() -> absl::StatusOr<Tokens> {
    ASSIGN_OR_RETURN(const std::vector<int> nodes, chain.Grow({.max_nodes = 31}, pool));
    return draft.TokensOf(nodes);
  };
  EXPECT_EQ(Must(run()), (Tokens{1, 3, 7}));   // Nothing comes after 7.
  EXPECT_EQ(specinfer.candidates(), 4);
}

template <typename Policy, typename Options>
Tokens Grown(const Options& options, const DraftBudget& budget) {
  WorkedDraft draft;
  Policy policy(options);
  return draft.TokensOf(Must(policy.Grow(budget, draft.pool)));
}

TEST(FixedTrees, AChainIsTheLikeliestTokensUntilOneIsNotLikelyEnough) {
  const auto chain = [](const ChainTree::Options& options, const DraftBudget& budget) { return Grown<ChainTree>(options, budget); };
  EXPECT_EQ(chain({.tokens = 2}, {.max_nodes = 31}), (Tokens{1, 3}));
  EXPECT_EQ(chain({.tokens = 8}, {.max_nodes = 1}), (Tokens{1}));
  EXPECT_EQ(chain({.tokens = 8}, {.max_nodes = 31, .max_depth = 2}), (Tokens{1, 3}));
  EXPECT_EQ(chain({.tokens = 8, .least = 0.55}, {.max_nodes = 31}), (Tokens{1}));      // 3 has 0.5.
  EXPECT_EQ(chain({.tokens = 8, .least = 0.7}, {.max_nodes = 31}), Tokens());
  EXPECT_EQ(chain({}, {.max_nodes = 0}), Tokens());
}

TEST(FixedTrees, AThresholdKeepsNodesReachedOftenEnough) {
  const auto tree = [](double threshold, const DraftBudget& budget) {
    return Grown<ThresholdTree>(ThresholdTree::Options{.threshold = threshold}, budget);
  };
  EXPECT_EQ(tree(0.28, {.max_nodes = 31}), (Tokens{1, 2, 5, 3}));     // 0.6, 0.35, 0.315, 0.30; 4 has 0.24.
  EXPECT_EQ(tree(0.33, {.max_nodes = 31}), (Tokens{1, 2}));
  EXPECT_EQ(tree(0.7, {.max_nodes = 31}), Tokens());
  EXPECT_EQ(tree(0.28, {.max_nodes = 3}), (Tokens{1, 2, 5}));
  EXPECT_EQ(tree(0.28, {.max_nodes = 31, .max_depth = 1}), (Tokens{1, 2}));
}

// No branch is expanded that the text does not reach often enough.
TEST(FixedTrees, AThresholdEndsTheDraft) {
  WorkedDraft draft;
  ThresholdTree policy({.threshold = 0.5});
  EXPECT_EQ(draft.TokensOf(Must(policy.Grow({.max_nodes = 31}, draft.pool))), (Tokens{1}));
  EXPECT_EQ(draft.pool.rows(), 2);   // The root and 1.
}

TEST(FixedTrees, WidthsAreChildrenOfEachNodeOfALevel) {
  const auto tree = [](const std::vector<int>& widths, const DraftBudget& budget) {
    return Grown<WidthsTree>(WidthsTree::Options{.widths = widths}, budget);
  };
  EXPECT_EQ(tree({2, 1}, {.max_nodes = 31}), (Tokens{1, 2, 5, 3}));
  EXPECT_EQ(tree({1, 2, 1}, {.max_nodes = 31}), (Tokens{1, 3, 4, 7}));
  EXPECT_EQ(tree({2, 2}, {.max_nodes = 4}), (Tokens{1, 2, 5, 3}));    // 4 and 6 are reached less often.
  EXPECT_EQ(tree({2, 2}, {.max_nodes = 31, .max_depth = 1}), (Tokens{1, 2}));
  EXPECT_EQ(tree({64}, {.max_nodes = 0}), Tokens());
}

TEST(FixedTrees, ALevelIsOnePass) {
  WorkedDraft draft;
  WidthsTree policy({.widths = {2, 2, 2}});
  Must(policy.Grow({.max_nodes = 31}, draft.pool));
  EXPECT_EQ(draft.expander.batches(), (std::vector<int>{1, 2, 4}));
}

}  // namespace
}  // namespace tessera
