// A text in the cache: what is placed, kept, set back and shared.
#include "tessera/runtime/cached_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::unique_ptr<KvCache> SmallCache(int slots = 64, std::vector<int> windows = {0, 0}) {
  return Must(KvCache::Create(
      {.layers = 2, .heads = 1, .head_size = 16, .slots = slots, .windows = std::move(windows), .largest_pass = 4}));
}

std::vector<TokenId> Tokens(absl::Span<const TokenId> tokens) { return {tokens.begin(), tokens.end()}; }

TEST(CachedText, HeaderExample) {
  const std::unique_ptr<KvCache> owned = SmallCache();
  KvCache& cache = *owned;
  const std::vector<TokenId> prompt(8, 3);
  TokenTree tree(5);
  const std::vector<int> path = {TokenTree::kRoot, tree.Add(TokenTree::kRoot, 6, 0.5f)};
  CachedText text(cache);
  const auto run = [&]() -> absl::Status {
    text.Append(prompt);
    std::vector<PassRow> rows;
    RETURN_IF_ERROR(cache.MakeRoom(8));
    RETURN_IF_ERROR(text.PlaceNext(8, /*adapter=*/nullptr, rows));
    EXPECT_EQ(rows.size(), 8u);
    RETURN_IF_ERROR(cache.MakeRoom(tree.size()));
    RETURN_IF_ERROR(text.PlaceTree(tree, /*adapter=*/nullptr, rows));
    EXPECT_EQ(rows.size(), 10u);
    text.KeepPath(path, /*compact=*/true);
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(text.held(), 10);
  EXPECT_EQ(Tokens(text.tokens()), (std::vector<TokenId>{3, 3, 3, 3, 3, 3, 3, 3, 5, 6}));
}

TEST(CachedText, RowsSayWhatTheyAttendTo) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1, 2, 3});
  std::vector<PassRow> rows;
  Must(text.PlaceNext(2, nullptr, rows));
  Must(text.PlaceNext(1, nullptr, rows));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].token, 3);
  int positions = 0;
  for (const SlotRange& range : rows[2].paths[0]) positions += range.count;
  EXPECT_EQ(positions, 3) << "itself included";
}

TEST(CachedText, WhatIsSetBackIsToBeComputedAgainAndNothingOfTheTextIsLost) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1, 2, 3, 4});
  std::vector<PassRow> rows;
  Must(text.PlaceNext(4, nullptr, rows));
  text.SetBack(1);
  EXPECT_EQ(text.held(), 1);
  EXPECT_EQ(text.length(), 4);
  EXPECT_EQ(cache->free_slots(), 63);
  text.Truncate(2);
  EXPECT_EQ(Tokens(text.tokens()), (std::vector<TokenId>{1, 2}));
}

TEST(CachedText, ARejectedTreeLeavesNothing) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1});
  std::vector<PassRow> rows;
  Must(text.PlaceNext(1, nullptr, rows));
  TokenTree tree(2);
  tree.Add(tree.Add(TokenTree::kRoot, 3, 0.5f), 4, 0.5f);
  tree.Add(TokenTree::kRoot, 5, 0.5f);
  Must(text.PlaceTree(tree, nullptr, rows));
  EXPECT_EQ(cache->free_slots(), 59);
  text.KeepPath({}, /*compact=*/true);
  EXPECT_EQ(cache->free_slots(), 63);
  EXPECT_EQ(text.length(), 1);
}

TEST(CachedText, ATreeThatFindsNoRoomPlacesNothing) {
  const auto cache = SmallCache(/*slots=*/16);
  CachedText text(*cache);
  text.Append(std::vector<TokenId>(15, 1));
  std::vector<PassRow> rows;
  Must(text.PlaceNext(15, nullptr, rows));
  TokenTree tree(2);
  tree.Add(TokenTree::kRoot, 3, 0.5f);
  EXPECT_EQ(text.PlaceTree(tree, nullptr, rows).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(text.tree(), nullptr);
  EXPECT_EQ(cache->free_slots(), 1);
}

TEST(CachedText, AForkSharesItsBeginning) {
  const auto cache = SmallCache();
  auto text = std::make_unique<CachedText>(*cache);
  text->Append({1, 2, 3, 4});
  std::vector<PassRow> rows;
  Must(text->PlaceNext(4, nullptr, rows));
  const auto fork = Must(text->Fork(3));
  EXPECT_EQ(cache->free_slots(), 60);
  text = nullptr;
  EXPECT_EQ(cache->free_slots(), 61) << "three are the fork's";
  EXPECT_EQ(fork->held(), 3);
}

TEST(CachedText, WhatIsAbandonedNoLongerTouchesTheCache) {
  auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1, 2});
  text.Abandon();
  cache = nullptr;
  text.Truncate(1);
  EXPECT_EQ(text.length(), 1);
}

}  // namespace
}  // namespace tessera
