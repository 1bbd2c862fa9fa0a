#include "tessera/spec/drafters/prompt_lookup.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<TokenId> DraftOf(PromptLookup& lookup, TokenId root, const DraftBudget& budget) {
  TokenTree tree(root);
  EXPECT_TRUE(lookup.Propose(budget, tree).ok());
  return tree.PathTo(tree.size() - 1);
}

TEST(PromptLookup, HeaderExample) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  TokenTree tree(text.back());
  PromptLookup lookup({.longest_key = 3, .length = 10});
  lookup.Begin(text);
  ASSERT_TRUE(lookup.Propose({.max_nodes = 10}, tree).ok());
  EXPECT_EQ(tree.PathTo(tree.size() - 1), (std::vector<TokenId>{3, 4, 1, 2}));
}

TEST(PromptLookup, TheLongestKeyAndThenTheLatestPlaceCount) {
  PromptLookup lookup({});
  lookup.Begin({{7, 1, 2, 8, 1, 2, 9, 3, 2, 5, 1, 2}});
  EXPECT_EQ(DraftOf(lookup, 2, {.max_nodes = 1}), std::vector<TokenId>{9});
}

TEST(PromptLookup, KeepsToItsBudgetAndSaysNothingWithoutAMatch) {
  PromptLookup lookup({});
  lookup.Begin({{1, 2, 3, 4, 5, 1}});
  EXPECT_EQ(DraftOf(lookup, 1, {.max_nodes = 2}), (std::vector<TokenId>{2, 3}));
  EXPECT_EQ(DraftOf(lookup, 1, {.max_nodes = 9, .max_depth = 1}), (std::vector<TokenId>{2}));
  lookup.Begin({{1, 2, 3}});
  EXPECT_TRUE(DraftOf(lookup, 3, {.max_nodes = 5}).empty());
}

TEST(PromptLookup, LearnsTheEmittedTokens) {
  PromptLookup lookup({});
  lookup.Begin({{1, 2}});
  lookup.Commit(TokenTree(2), {.path = {0}, .emitted = {3, 1, 2}});
  EXPECT_EQ(DraftOf(lookup, 2, {.max_nodes = 3}), (std::vector<TokenId>{3, 1, 2}));
}

}  // namespace
}  // namespace tessera
