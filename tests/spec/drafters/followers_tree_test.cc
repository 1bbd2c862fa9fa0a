#include "tessera/spec/drafters/followers_tree.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FollowersTree, HeaderExample) {
  TokenTree tree(2);
  SuffixAutomaton texts({});
  for (const TokenId token : {1, 2, 3, 4, 1, 2}) texts.Extend(token);
  DraftFollowers({&texts, texts.Match()}, /*second=*/{}, {.max_nodes = 15}, tree);
  const int first = tree.Child(TokenTree::kRoot, 3);
  ASSERT_NE(first, TokenTree::kNone);
  EXPECT_NE(tree.Child(first, 4), TokenTree::kNone);
}

TEST(FollowersTree, TheLongerMatchComesFirstOfWhicheverSource) {
  SuffixAutomaton shorter({}), longer({});
  for (const TokenId token : {2, 8}) shorter.Extend(token);
  for (const TokenId token : {1, 2, 9}) longer.Extend(token);
  const auto place = [](const SuffixAutomaton& texts) {
    SuffixAutomaton::Cursor cursor;
    for (const TokenId token : {1, 2}) cursor = texts.Move(cursor, token);
    return FollowersSource{&texts, cursor};
  };
  for (const bool swapped : {false, true}) {
    TokenTree tree(2);
    DraftFollowers(place(swapped ? longer : shorter), place(swapped ? shorter : longer), {.max_nodes = 2}, tree);
    ASSERT_EQ(tree.size(), 3);
    EXPECT_GT(tree[tree.Child(TokenTree::kRoot, 9)].probability, tree[tree.Child(TokenTree::kRoot, 8)].probability) << swapped;
  }
}

TEST(FollowersTree, NothingIsDraftedWhereNothingStoodBefore) {
  SuffixAutomaton texts({});
  for (const TokenId token : {1, 2, 3}) texts.Extend(token);
  TokenTree tree(3);
  DraftFollowers({&texts, {}}, /*second=*/{}, {.max_nodes = 5}, tree);
  EXPECT_EQ(tree.size(), 1);
}

}  // namespace
}  // namespace tessera
