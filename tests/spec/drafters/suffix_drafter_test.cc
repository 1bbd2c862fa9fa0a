#include "tessera/spec/drafters/suffix_drafter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::shared_ptr<HistoryStore> StoreIn(const TemporaryFolder& folder) {
  auto store = HistoryStore::Open(folder.path(), "test", {.sum = {{1}}, .size = 100}, {});
  EXPECT_TRUE(store.ok()) << store.status();
  return std::move(*store);
}

TokenTree DraftOf(SuffixDrafter& drafter, TokenId root, const DraftBudget& budget) {
  TokenTree tree(root);
  EXPECT_TRUE(drafter.Propose(budget, tree).ok());
  return tree;
}

// The likeliest child at each node.
std::vector<TokenId> LikeliestPath(const TokenTree& tree) {
  std::vector<TokenId> path;
  for (int node = TokenTree::kRoot;;) {
    int best = TokenTree::kNone;
    for (int child = node + 1; child < tree.size(); ++child) {
      if (tree[child].parent == node && (best == TokenTree::kNone || tree[child].probability > tree[best].probability)) best = child;
    }
    if (best == TokenTree::kNone) return path;
    path.push_back(tree[best].token);
    node = best;
  }
}

TEST(SuffixDrafter, HeaderExample) {
  const TemporaryFolder folder;
  const std::shared_ptr<HistoryStore> store = StoreIn(folder);
  const std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  TokenTree tree(text.back());
  SuffixDrafter drafter({.history = store});
  drafter.Begin(text);
  ASSERT_TRUE(drafter.Propose({.max_nodes = 15}, tree).ok());
  EXPECT_EQ(tree[1].token, 3);
}

TEST(SuffixDrafter, CopiesFromTheLatestPlaceAndKeepsOthersAsBranches) {
  SuffixDrafter drafter({});
  drafter.Begin({{5, 6, 1, 2, 5, 6, 3, 4, 5, 6}});
  const TokenTree tree = DraftOf(drafter, 6, {.max_nodes = 20});
  const int latest = tree.Child(TokenTree::kRoot, 3), other = tree.Child(TokenTree::kRoot, 1);
  ASSERT_NE(latest, TokenTree::kNone);
  ASSERT_NE(other, TokenTree::kNone);
  EXPECT_GT(tree[latest].probability, tree[other].probability);
  EXPECT_NE(tree.Child(other, 2), TokenTree::kNone);
  EXPECT_NE(tree.Child(latest, 4), TokenTree::kNone);
}

TEST(SuffixDrafter, AMoreFrequentFollowerIsLikelier) {
  SuffixDrafter drafter({});
  drafter.Begin({{1, 2, 9, 1, 2, 9, 1, 2, 9, 1, 2, 9, 1, 2, 8, 7, 1, 2}});
  const TokenTree tree = DraftOf(drafter, 2, {.max_nodes = 20});
  EXPECT_GT(tree[tree.Child(TokenTree::kRoot, 9)].probability, tree[tree.Child(TokenTree::kRoot, 8)].probability);
}

// The text goes on as it did before until a token that is new; the longer it did, the surer the next.
TEST(SuffixDrafter, ALongerMatchIsSurer) {
  float before = 0;
  for (int match = 1; match < 40; ++match) {
    std::vector<TokenId> text;
    for (int i = 0; i < 50; ++i) text.push_back(i);
    text.push_back(99);
    for (int i = 40 - match; i < 40; ++i) text.push_back(i);
    SuffixDrafter drafter({});
    drafter.Begin(text);
    const TokenTree tree = DraftOf(drafter, text.back(), {.max_nodes = 50});
    ASSERT_EQ(tree[1].token, 40);
    EXPECT_GT(tree[1].probability, before);
    EXPECT_LT(tree[1].probability, 1);
    before = tree[1].probability;
  }
}

TEST(SuffixDrafter, ADraftIsAtMostFourTimesItsMatchAndOneDeep) {
  for (int match = 1; match < 5; ++match) {
    std::vector<TokenId> text;
    for (int i = 0; i < 90; ++i) text.push_back(i);
    for (int i = 20 - match; i < 20; ++i) text.push_back(i);
    SuffixDrafter drafter({});
    drafter.Begin(text);
    EXPECT_EQ(DraftOf(drafter, 19, {.max_nodes = 60}).Depth(), 1 + 4 * match);
  }
}

TEST(SuffixDrafter, ADraftGoesRoundALoop) {
  SuffixDrafter drafter({});
  drafter.Begin({{9, 1, 2, 1, 2, 1, 2}});
  EXPECT_EQ(LikeliestPath(DraftOf(drafter, 2, {.max_nodes = 8})), (std::vector<TokenId>{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(SuffixDrafter, KeepsToItsBudgetAndSaysNothingWithoutAMatch) {
  SuffixDrafter drafter({});
  drafter.Begin({{1, 2, 3, 4, 5, 1}});
  EXPECT_EQ(DraftOf(drafter, 1, {.max_nodes = 2}).size(), 3);
  EXPECT_EQ(DraftOf(drafter, 1, {.max_nodes = 9, .max_depth = 1}).size(), 2);
  EXPECT_EQ(DraftOf(drafter, 1, {.max_nodes = 0}).size(), 1);
  EXPECT_EQ(DraftOf(drafter, 1, {.max_nodes = 9, .max_depth = 0}).size(), 1);
  drafter.Begin({{1, 2, 3}});
  EXPECT_EQ(DraftOf(drafter, 3, {.max_nodes = 5}).size(), 1);
}

TEST(SuffixDrafter, LearnsTheEmittedTokens) {
  SuffixDrafter drafter({});
  drafter.Begin({{1, 2}});
  drafter.Commit(TokenTree(2), {.path = {0}, .emitted = {3, 1, 2}});
  EXPECT_EQ(LikeliestPath(DraftOf(drafter, 2, {.max_nodes = 3})), (std::vector<TokenId>{3, 1, 2}));
}

TEST(SuffixDrafter, DraftsFromFinishedTextsAndNeverAcrossTheirEnds) {
  const TemporaryFolder folder;
  const std::shared_ptr<HistoryStore> store = StoreIn(folder);
  store->Add({}, {{10, 11, 12}});
  store->Add({}, {{13, 14, 15}});
  SuffixDrafter drafter({.history = store});
  drafter.Begin({{1, 10, 11}});
  EXPECT_EQ(LikeliestPath(DraftOf(drafter, 11, {.max_nodes = 9})), (std::vector<TokenId>{12}));
}

// It keeps its place there while texts come, go and begin anew.
TEST(SuffixDrafter, FollowsAHistoryThatOthersChange) {
  const TemporaryFolder folder;
  const std::shared_ptr<HistoryStore> store = StoreIn(folder);
  SuffixDrafter drafter({.history = store});
  drafter.Begin({{1, 20, 21}});
  EXPECT_EQ(DraftOf(drafter, 21, {.max_nodes = 9}).size(), 1);
  drafter.Commit(TokenTree(21), {.path = {0}, .emitted = {22}});
  store->Add({}, {{20, 21, 22, 23}});
  drafter.Begin({{1, 20, 21, 22}});
  EXPECT_EQ(LikeliestPath(DraftOf(drafter, 22, {.max_nodes = 9})), (std::vector<TokenId>{23}));
  ASSERT_TRUE(store->Clear().ok());
  EXPECT_EQ(DraftOf(drafter, 22, {.max_nodes = 9}).size(), 1);
  store->Add({}, {{20, 21, 22, 24}});
  drafter.Commit(TokenTree(22), {.path = {0}, .emitted = {20, 21, 22}});
  EXPECT_NE(DraftOf(drafter, 22, {.max_nodes = 30}).Child(TokenTree::kRoot, 24), TokenTree::kNone);
}

TEST(SuffixDrafter, ALongTextForgetsItsOldestTokens) {
  const TemporaryFolder folder;
  const std::shared_ptr<HistoryStore> store = StoreIn(folder);
  store->Add({}, {{50, 51, 52}});
  SuffixDrafter drafter({.history = store, .max_tokens = 100});
  std::vector<TokenId> text;
  for (int i = 0; i < 1000; ++i) text.push_back(60 + i % 7);
  drafter.Begin({{1, 2, 3}});
  int64_t largest = 0;
  for (const TokenId token : text) {
    drafter.Commit(TokenTree(0), {.path = {0}, .emitted = {token}});
    largest = std::max(largest, drafter.bytes());
  }
  EXPECT_LE(largest, 1000 + 100 * SuffixAutomaton::kMostBytesPerToken);
  EXPECT_EQ(DraftOf(drafter, text.back(), {.max_nodes = 1})[1].token, 60 + 1000 % 7);
  drafter.Commit(TokenTree(0), {.path = {0}, .emitted = {1, 2}});   // Stood at the beginning, which is gone.
  EXPECT_EQ(DraftOf(drafter, 2, {.max_nodes = 9}).size(), 1);
  drafter.Commit(TokenTree(0), {.path = {0}, .emitted = {50, 51}});
  EXPECT_EQ(DraftOf(drafter, 51, {.max_nodes = 1})[1].token, 52);
}

TEST(SuffixDrafter, TheSameTextIsDraftedTheSame) {
  SeededRandom random(5);
  SuffixDrafter whole({}), grown({});
  std::vector<TokenId> text = {1};
  grown.Begin(text);
  for (int round = 0; round < 100; ++round) {
    const TokenId token = static_cast<TokenId>(random.Below(6));
    text.push_back(token);
    grown.Commit(TokenTree(0), {.path = {0}, .emitted = {token}});
    whole.Begin(text);
    const TokenTree a = DraftOf(whole, token, {.max_nodes = 12}), b = DraftOf(grown, token, {.max_nodes = 12});
    ASSERT_EQ(a.size(), b.size());
    for (int node = 0; node < a.size(); ++node) {
      EXPECT_EQ(a[node].token, b[node].token);
      EXPECT_EQ(a[node].parent, b[node].parent);
      EXPECT_EQ(a[node].probability, b[node].probability);
    }
  }
}

}  // namespace
}  // namespace tessera
