#include "tessera/spec/token_recycling.h"

#include <gtest/gtest.h>

#include "tessera/tests/fakes/random_steps.h"

namespace tessera {
namespace {

// A row of a pass as a verdict has it: each token a little less likely than the one before.
TopTokens Top(std::vector<TokenId> tokens) {
  TopTokens top;
  for (const TokenId token : tokens) top.push_back({token, 0.5f / (1 + top.size())});
  return top;
}

TEST(TokenRecycling, HeaderExample) {
  TokenTree tree(3);
  const std::vector<TokenId> text = {1, 2, 3};
  TokenRecycling recycling({});
  recycling.Begin(text);
  recycling.LearnPrompt(0, {{Top({2, 7}), Top({3}), Top({1, 4})}});
  ASSERT_TRUE(recycling.Propose({.max_nodes = 15}, tree).ok());
  const int one = tree.Child(TokenTree::kRoot, 1);
  ASSERT_NE(one, TokenTree::kNone);
  EXPECT_NE(tree.Child(TokenTree::kRoot, 4), TokenTree::kNone);
  ASSERT_NE(tree.Child(one, 2), TokenTree::kNone);
  EXPECT_NE(tree.Child(one, 7), TokenTree::kNone);
  EXPECT_NE(tree.Child(tree.Child(one, 2), 3), TokenTree::kNone);
  const Verdict verdict = {.path = {0}, .emitted = {4}, .top = {Top({4})}};
  recycling.Commit(tree, verdict);
}

TEST(TokenRecycling, TheLatestRowOfATokenCounts) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  TokenTree tree(1);
  const int two = tree.Add(TokenTree::kRoot, 2, 0.5f);
  tree.Add(two, 1, 0.5f);
  // The root's row says 8, the row of the rejected 1 says 9: what is text counts.
  recycling.Commit(tree, {.path = {0}, .emitted = {5}, .top = {Top({8}), Top({1}), Top({9})}});
  TokenTree draft(1);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 1}, draft).ok());
  ASSERT_EQ(draft.size(), 2);
  EXPECT_EQ(draft[1].token, 8);
  // A rejected row teaches, too, and a shorter row leaves the older tokens behind its own.
  TokenTree after_two(2);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 1}, after_two).ok());
  EXPECT_EQ(after_two[1].token, 1);
  recycling.Commit(TokenTree(2), {.path = {0}, .emitted = {5}, .top = {Top({6})}});
  TokenTree later(2);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 9, .max_depth = 1}, later).ok());
  ASSERT_EQ(later.size(), 3);
  EXPECT_EQ(later[1].token, 6);
  EXPECT_EQ(later[2].token, 1);
}

TEST(TokenRecycling, RanksThatAreTakenMoreOftenAreLikelier) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  const Verdict second_taken = {.path = {0}, .emitted = {20}, .top = {Top({10, 20, 30})}};
  for (int step = 0; step < 50; ++step) recycling.Commit(TokenTree(1), second_taken);
  TokenTree tree(1);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 1}, tree).ok());
  EXPECT_EQ(tree[1].token, 20);
  EXPECT_GT(tree[1].probability, 0.6f);
}

TEST(TokenRecycling, WhatItLearntStaysFromTextToText) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  recycling.Commit(TokenTree(1), {.path = {0}, .emitted = {2}, .top = {Top({2})}});
  recycling.Begin({{5, 1}});
  TokenTree tree(1);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 3}, tree).ok());
  EXPECT_EQ(tree.PathTo(tree.size() - 1), std::vector<TokenId>{2});
}

TEST(TokenRecycling, TheFirstFiledGoesFirstWhereThereIsNoRoom) {
  TokenRecycling recycling({.max_tokens = 2});
  recycling.Begin({{1}});
  for (const TokenId token : {1, 2, 3}) recycling.Commit(TokenTree(token), {.path = {0}, .emitted = {9}, .top = {Top({token + 10})}});
  for (const TokenId token : {1, 2, 3}) {
    TokenTree tree(token);
    ASSERT_TRUE(recycling.Propose({.max_nodes = 1}, tree).ok());
    EXPECT_EQ(tree.size(), token == 1 ? 1 : 2) << token;
  }
}

TEST(TokenRecycling, AnyStepsLeaveItSoundAndReproducible) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    TokenRecycling one({.max_tokens = 8}), other({.max_tokens = 8});
    const RandomSteps::Options options = {.seed = seed, .most_bytes = 2000};
    ExpectSameProposals(RandomSteps(options).Run(one), RandomSteps(options).Run(other));
  }
}

}  // namespace
}  // namespace tessera
