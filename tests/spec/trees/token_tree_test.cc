#include "tessera/spec/trees/token_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(TokenTree, HeaderExample) {
  const TokenId last_token = 5;
  TokenTree tree(last_token);
  const int first = tree.Add(TokenTree::kRoot, 42, /*probability=*/0.8f);
  tree.Add(first, 7, 0.5f);
  EXPECT_EQ(tree.Add(TokenTree::kRoot, 42, 0.9f), first);
  const TokenTree rows = tree.Pick({first});

  EXPECT_EQ(tree.size(), 3);
  EXPECT_EQ(tree[first].probability, 0.9f);
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[1].token, 42);
}

TEST(TokenTree, KnowsItsShape) {
  TokenTree tree(1);
  EXPECT_EQ(tree.Leaves(), 1);
  EXPECT_EQ(tree.Depth(), 0);
  const int a = tree.Add(0, 2, 0.5f), b = tree.Add(0, 3, 0.25f), c = tree.Add(a, 4, 0.5f);
  EXPECT_EQ(tree.Leaves(), 2);
  EXPECT_EQ(tree.Depth(), 2);
  EXPECT_EQ(tree.Child(a, 4), c);
  EXPECT_EQ(tree.Child(b, 4), TokenTree::kNone);
  EXPECT_EQ(tree.PathTo(c), (std::vector<TokenId>{2, 4}));
  EXPECT_EQ(tree.PathProbabilities(), (std::vector<float>{1, 0.5f, 0.25f, 0.25f}));
}

// The likeliest path in one piece, so that what is accepted most often lies in neighbouring slots.
TEST(TokenTree, PickPutsTheLikeliestPathFirst) {
  TokenTree tree(1);
  const int unlikely = tree.Add(0, 2, 0.2f), likely = tree.Add(0, 3, 0.7f);
  const int under_unlikely = tree.Add(unlikely, 4, 0.9f), second = tree.Add(likely, 5, 0.3f), first = tree.Add(likely, 6, 0.6f);
  const TokenTree picked = tree.Pick({unlikely, likely, under_unlikely, second, first});
  std::vector<TokenId> tokens;
  for (const TokenTree::Node& node : picked.nodes()) tokens.push_back(node.token);
  EXPECT_EQ(tokens, (std::vector<TokenId>{1, 3, 6, 5, 2, 4}));
}

TEST(TokenTree, PickKeepsPathsOfRandomTrees) {
  SeededRandom random(3);
  for (int round = 0; round < 200; ++round) {
    TokenTree tree(0);
    for (int i = 0; i < 30; ++i)
      tree.Add(static_cast<int>(random.Below(tree.size())), static_cast<TokenId>(random.Below(6)),
               (1 + random.Below(10)) / 10.0f);
    std::vector<bool> kept(tree.size());
    std::vector<int> nodes;
    for (int node = 1; node < tree.size(); ++node) {
      const int parent = tree[node].parent;
      kept[node] = (parent == 0 || kept[parent]) && random.Below(3) > 0;
      if (kept[node]) nodes.push_back(node);
    }
    const TokenTree picked = tree.Pick(nodes);
    ASSERT_EQ(picked.size(), static_cast<int>(nodes.size()) + 1);
    for (const int node : nodes) {
      int place = 0;
      for (const TokenId token : tree.PathTo(node)) place = picked.Child(place, token);
      ASSERT_NE(place, TokenTree::kNone);
      EXPECT_EQ(picked[place].depth, tree[node].depth);
    }
  }
}

TEST(TokenTreeDeathTest, AParentIsThere) {
  TokenTree tree(1);
  EXPECT_DEATH(tree.Add(7, 2, 0.5f), "parent 7");
  const int a = tree.Add(0, 2, 0.5f), b = tree.Add(a, 3, 0.5f);
  EXPECT_DEATH(tree.Pick({b}), "without its parent");
}

}  // namespace
}  // namespace tessera
