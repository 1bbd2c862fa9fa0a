#include "tessera/spec/drafters/token_recycling.h"

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

// The tokens that it drafts after a text's last one, likeliest first.
std::vector<TokenId> DraftedAfter(TokenRecycling& recycling, const std::vector<TokenId>& text) {
  recycling.Begin(text);
  TokenTree tree(text.back());
  EXPECT_TRUE(recycling.Propose({.max_nodes = 99, .max_depth = 1}, tree).ok());
  std::vector<TokenId> tokens;
  for (int node = 1; node < tree.size(); ++node) tokens.push_back(tree[node].token);
  return tokens;
}

TEST(TokenRecycling, FollowersOfATokenPairComeFirst) {
  TokenRecycling recycling({});
  const std::vector<TokenId> text = {1, 2, 5, 2};
  recycling.Begin(text);
  recycling.LearnPrompt(0, {{{}, Top({30}), {}, Top({40})}});
  EXPECT_EQ(DraftedAfter(recycling, {1, 2}), (std::vector<TokenId>{30, 40}));
  EXPECT_EQ(DraftedAfter(recycling, {5, 2}), (std::vector<TokenId>{40, 30}));
  EXPECT_EQ(DraftedAfter(recycling, {9, 2}), (std::vector<TokenId>{30, 40}));   // With neither: the mean of both.
}

TEST(TokenRecycling, ManyRowsOutweighTheLastRow) {
  TokenRecycling recycling({});
  for (const TokenId said : {8, 8, 8, 7}) {
    recycling.Begin({{1}});
    recycling.Commit(TokenTree(1), {.path = {0}, .emitted = {5}, .top = {Top({said})}});
  }
  EXPECT_EQ(DraftedAfter(recycling, {1}), (std::vector<TokenId>{8, 7}));
  for (int row = 0; row < 3; ++row) {
    recycling.Begin({{1}});
    recycling.Commit(TokenTree(1), {.path = {0}, .emitted = {5}, .top = {Top({7})}});
  }
  EXPECT_EQ(DraftedAfter(recycling, {1}), (std::vector<TokenId>{7, 8}));
}

TEST(TokenRecycling, RejectedRowsTeach) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  TokenTree tree(1);
  tree.Add(TokenTree::kRoot, 2, 0.5f);
  recycling.Commit(tree, {.path = {0}, .emitted = {5}, .top = {Top({5}), Top({6})}});
  EXPECT_EQ(DraftedAfter(recycling, {1, 2}), std::vector<TokenId>{6});
}

TEST(TokenRecycling, CandidatesThatNearlyCameMayComeLater) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  const auto likeliest = [&](TokenId root) {
    TokenTree tree(root);
    EXPECT_TRUE(recycling.Propose({.max_nodes = 1}, tree).ok());
    return tree.size() == 1 ? 0 : tree[1].token;
  };
  recycling.Commit(TokenTree(1), {.path = {0}, .emitted = {5}, .top = {Top({5, 6})}});
  EXPECT_EQ(likeliest(5), 6);
  recycling.Commit(TokenTree(5), {.path = {0}, .emitted = {3}, .top = {Top({3, 4})}});
  EXPECT_EQ(likeliest(3), 4);        // 6 is older,
  recycling.Commit(TokenTree(3), {.path = {0}, .emitted = {4}, .top = {Top({4})}});
  EXPECT_EQ(likeliest(4), 6);        // and likelier than 4, which has come.
}

TEST(TokenRecycling, LearntTokensStayFromTextToText) {
  TokenRecycling recycling({});
  recycling.Begin({{1}});
  recycling.Commit(TokenTree(1), {.path = {0}, .emitted = {2}, .top = {Top({2})}});
  recycling.Begin({{5, 1}});
  TokenTree tree(1);
  ASSERT_TRUE(recycling.Propose({.max_nodes = 3}, tree).ok());
  EXPECT_EQ(tree.PathTo(tree.size() - 1), std::vector<TokenId>{2});
}

TEST(TokenRecycling, TheFirstFiledGoesFirstWhereThereIsNoRoom) {
  TokenRecycling recycling({.max_contexts = 2});
  for (const TokenId token : {1, 2, 3}) {
    recycling.Begin({{token}});
    recycling.Commit(TokenTree(token), {.path = {0}, .emitted = {9}, .top = {Top({token + 10})}});
  }
  EXPECT_EQ(DraftedAfter(recycling, {1}), std::vector<TokenId>());
  EXPECT_EQ(DraftedAfter(recycling, {2}), std::vector<TokenId>{12});
  EXPECT_EQ(DraftedAfter(recycling, {3}), std::vector<TokenId>{13});
}

TEST(TokenRecycling, AnyStepsLeaveTheDrafterSoundAndReproducible) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    TokenRecycling one({.max_contexts = 8}), other({.max_contexts = 8});
    const RandomSteps::Options options = {.seed = seed, .most_bytes = 2000};
    ExpectSameProposals(RandomSteps(options).Run(one), RandomSteps(options).Run(other));
  }
}

}  // namespace
}  // namespace tessera
