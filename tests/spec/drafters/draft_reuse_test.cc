#include "tessera/spec/drafters/draft_reuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/random_steps.h"

namespace tessera {
namespace {

TokenTree Chain(TokenId root, std::vector<TokenId> draft) {
  TokenTree tree(root);
  int node = TokenTree::kRoot;
  for (const TokenId token : draft) node = tree.Add(node, token, 0.9f);
  return tree;
}

// What a greedy model makes of a tree: says[i] after node i.
Verdict Greedy(const TokenTree& tree, std::vector<TokenId> says) {
  Verdict verdict;
  for (const TokenId token : says) verdict.top.push_back({{token, 0.9f}});
  for (int node = TokenTree::kRoot; node != TokenTree::kNone; node = tree.Child(node, says[node])) {
    verdict.path.push_back(node);
    verdict.emitted.push_back(says[node]);
  }
  return verdict;
}

bool Has(const TokenTree& tree, std::vector<TokenId> path) {
  int node = TokenTree::kRoot;
  for (const TokenId token : path) {
    if ((node = tree.Child(node, token)) == TokenTree::kNone) return false;
  }
  return true;
}

TokenTree DraftOf(DraftReuse& reuse, TokenId root, DraftBudget budget = {.max_nodes = 31}) {
  TokenTree tree(root);
  EXPECT_TRUE(reuse.Propose(budget, tree).ok());
  return tree;
}

class ReuseAfterMismatch : public ::testing::Test {
 protected:
  void Step(std::vector<TokenId> draft, std::vector<TokenId> says) {
    const TokenTree tree = Chain(root_, draft);
    const Verdict verdict = Greedy(tree, says);
    reuse_.Commit(tree, verdict);
    root_ = verdict.emitted.back();
  }
  TokenId root_ = 1;
  DraftReuse reuse_{{}};
};

TEST(DraftReuse, HeaderExample) {
  const std::vector<TokenId> text = {5, 10, 11, 12, 13, 5};
  const DraftBudget budget = {.max_nodes = 15};
  PromptLookup other({});
  DraftReuse reuse({});
  other.Begin(text);
  reuse.Begin(text);
  TokenTree tree(5);
  ASSERT_TRUE(other.Propose(budget, tree).ok());                 // 10 11 12 13 5
  ASSERT_TRUE(reuse.Propose(budget, tree).ok());
  const Verdict verdict = Greedy(tree, {20, 11, 12, 99, 98, 97});  // 20 instead of 10
  reuse.Commit(tree, verdict);
  TokenTree next(20);
  ASSERT_TRUE(reuse.Propose(budget, next).ok());
  EXPECT_TRUE(Has(next, {11, 12}));
}

// The paper's table 2, with e = 2, after the draft 2 3 4 5 6.
TEST_F(ReuseAfterMismatch, TokensWereMissingInTheDraft) {
  Step({2, 3, 4, 5, 6}, {2, 30, 4, 5, 6, 7});   // The text: 2 30 3 4 5 6.
  EXPECT_EQ(root_, 30);
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {3, 4, 5, 6}));
  Step({}, {31});                                // Another one was missing: 2 30 31 3 4 5 6.
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {3, 4, 5, 6}));
  Step({}, {3});
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {4, 5, 6}));
}

TEST_F(ReuseAfterMismatch, ASynonymStandsInThePlaceOfTokens) {
  Step({2, 3, 4, 5, 6}, {2, 30, 40, 5, 6, 7});  // The text: 2 30 5 6. The model agrees with 5 and 6, not with 4.
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {5, 6}));
  EXPECT_FALSE(Has(DraftOf(reuse_, root_), {4}));
  EXPECT_FALSE(Has(DraftOf(reuse_, root_), {3}));
  Step({}, {31});                                // A longer synonym: 2 30 31 5 6.
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {5, 6}));
  Step({}, {5});
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {6}));
  EXPECT_EQ(DraftOf(reuse_, root_).size(), 2);
}

TEST_F(ReuseAfterMismatch, ARedundantDraftIsGone) {
  Step({2, 3, 4, 5, 6}, {2, 30, 40, 50, 60, 7});
  EXPECT_EQ(DraftOf(reuse_, root_).size(), 1);
}

TEST_F(ReuseAfterMismatch, TheLongestRunStaysAndTheFirstOfEqualOnes) {
  Step({2, 3, 4, 5, 6, 7}, {20, 3, 40, 5, 6, 70, 8});
  const TokenTree longest = DraftOf(reuse_, root_);
  EXPECT_TRUE(Has(longest, {5, 6}));
  EXPECT_FALSE(Has(longest, {3}));
  reuse_.Begin({{1}});
  root_ = 1;
  Step({2, 3, 4, 5}, {20, 3, 40, 5, 6});
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {3}));
  EXPECT_FALSE(Has(DraftOf(reuse_, root_), {5}));
}

TEST_F(ReuseAfterMismatch, RowsWithoutLogitsTeachNothing) {
  const TokenTree tree = Chain(1, {2, 3, 4});
  reuse_.Commit(tree, {.path = {0}, .emitted = {9}, .top = {{{9, 1.0f}}, {}, {}, {}}});
  reuse_.Commit(tree, {.path = {0}, .emitted = {9}});
  EXPECT_EQ(DraftOf(reuse_, 9).size(), 1);
}

TEST_F(ReuseAfterMismatch, EveryRejectedPathOfATreeLeavesItsRun) {
  TokenTree tree(1);
  const int two = tree.Add(0, 2, 0.5f), three = tree.Add(two, 3, 0.5f);
  tree.Add(three, 4, 0.5f);
  tree.Add(tree.Add(0, 5, 0.4f), 6, 0.5f);
  reuse_.Commit(tree, Greedy(tree, {9, 3, 4, 0, 6, 0}));
  EXPECT_TRUE(Has(DraftOf(reuse_, 9), {3, 4}));
  EXPECT_TRUE(Has(DraftOf(reuse_, 9), {6}));
}

TEST_F(ReuseAfterMismatch, ComesAfterTheEndOfOtherDrafts) {
  Step({2, 3, 4, 5}, {30, 3, 4, 5, 6});
  TokenTree tree = Chain(30, {31, 32});
  tree.Add(0, 40, 0.1f);
  ASSERT_TRUE(reuse_.Propose({.max_nodes = 31}, tree).ok());
  EXPECT_TRUE(Has(tree, {31, 32, 3, 4, 5}));
  EXPECT_TRUE(Has(tree, {3, 4, 5}));
  EXPECT_FALSE(Has(tree, {40, 3}));
  TokenTree in_the_middle = Chain(30, {31, 3});
  ASSERT_TRUE(reuse_.Propose({.max_nodes = 31}, in_the_middle).ok());
  EXPECT_TRUE(Has(in_the_middle, {31, 3, 4, 5}));
}

TEST_F(ReuseAfterMismatch, LivesAtMostSoManySteps) {
  Step({2, 3, 4}, {30, 3, 4, 5});
  for (int step = 1; step <= 31; ++step) {
    Step({}, {100 + step});
    EXPECT_GT(DraftOf(reuse_, root_).size(), 1) << step;
  }
  Step({}, {200});
  EXPECT_EQ(DraftOf(reuse_, root_).size(), 1);
}

TEST_F(ReuseAfterMismatch, LivesForAStepAndThenWhileNewerOnesLeaveRoom) {
  std::vector<TokenId> draft(21), says(22, 1000);
  for (int i = 0; i < 21; ++i) draft[i] = says[i] = 10 + i;
  says[0] = 500;
  Step(draft, says);  // A run of 20.
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {11, 12}));
  for (int i = 0; i < 21; ++i) draft[i] = says[i] = 50 + i;
  says[0] = 501;
  Step(draft, says);  // One more: 40 together.
  EXPECT_TRUE(Has(DraftOf(reuse_, root_), {51, 52}));
  EXPECT_FALSE(Has(DraftOf(reuse_, root_), {11}));
}

TEST_F(ReuseAfterMismatch, IsDroppedOnceTheTextHasUsedTheDraft) {
  Step({2, 3, 4, 5}, {30, 3, 4, 5, 6});
  Step({3, 4}, {3, 4, 50});
  EXPECT_EQ(DraftOf(reuse_, root_).size(), 1);
}

TEST_F(ReuseAfterMismatch, KeepsToItsBudget) {
  Step({2, 3, 4, 5}, {30, 3, 4, 5, 6});
  EXPECT_EQ(DraftOf(reuse_, 30, {.max_nodes = 2}).size(), 3);
  EXPECT_EQ(DraftOf(reuse_, 30, {.max_nodes = 31, .max_depth = 1}).Depth(), 1);
}

TEST(DraftReuse, AnyStepsLeaveTheDrafterSoundAndReproducible) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    DraftReuse one({}), other({});
    const RandomSteps::Options options = {.vocabulary = 4, .seed = seed, .most_bytes = 16 << 10};
    ExpectSameProposals(RandomSteps(options).Run(one), RandomSteps(options).Run(other));
  }
}

}  // namespace
}  // namespace tessera
