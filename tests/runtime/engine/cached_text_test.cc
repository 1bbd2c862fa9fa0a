// A text in the cache: what is placed, kept, set back and shared.
#include "tessera/runtime/engine/cached_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
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

TEST(CachedText, RowsNameTheirAttendedPositions) {
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

TEST(CachedText, APreemptedTextIsRecomputedAndLosesNoToken) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1, 2, 3, 4});
  std::vector<PassRow> rows;
  Must(text.PlaceNext(4, nullptr, rows));
  text.TruncateCache(1);
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

TEST(CachedText, EachNodeOfATreeEndsAPathOfItsOwn) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1});
  std::vector<PassRow> rows;
  Must(text.PlaceNext(1, nullptr, rows));
  TokenTree tree(2);
  const int first = tree.Add(TokenTree::kRoot, 3, 0.5f), second = tree.Add(TokenTree::kRoot, 4, 0.4f);
  tree.Add(first, 5, 0.3f);
  tree.Add(second, 6, 0.3f);
  tree.Add(TokenTree::kRoot, 7, 0.2f);
  rows.clear();
  Must(text.PlaceTree(tree, nullptr, rows));
  std::set<int> last;
  for (int node = 0; node < tree.size(); ++node) {
    const SlotRange& range = rows[node].paths[0].back();
    last.insert(range.begin + range.count - 1);
    int positions = 0;
    for (const SlotRange& each : rows[node].paths[0]) positions += each.count;
    EXPECT_EQ(positions, 1 + tree[node].depth + 1) << node;
  }
  EXPECT_EQ(last.size(), 6u) << "slots";
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

// The slots that a row attends to: those of the text, of its ancestors and its own.
int PositionsOf(const PassRow& row) {
  int positions = 0;
  for (const SlotRange& range : row.paths[0]) positions += range.count;
  return positions;
}

TEST(CachedText, AGrowingTreePlacesOnlyNewNodes) {
  const auto owned = SmallCache();
  KvCache& cache = *owned;
  CachedText text(cache);
  text.Append({1, 2, 3});
  std::vector<PassRow> rows;
  TokenTree tree(4);
  Must(text.PlaceMore(tree, {TokenTree::kRoot}, /*adapter=*/nullptr, rows));
  ASSERT_EQ(rows.size(), 4u) << "what the cache lacks, and the root";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(PositionsOf(rows[i]), i + 1);
  EXPECT_EQ(rows[3].token, 4);
  const int child = tree.Add(TokenTree::kRoot, 5, 0.5f), sister = tree.Add(TokenTree::kRoot, 6, 0.4f);
  rows.clear();
  Must(text.PlaceMore(tree, {child, sister}, nullptr, rows));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(PositionsOf(rows[0]), 5);
  EXPECT_EQ(PositionsOf(rows[1]), 5);
  const int below = tree.Add(child, 7, 0.5f), beside = tree.Add(child, 8, 0.4f);
  rows.clear();
  Must(text.PlaceMore(tree, {below}, nullptr, rows));
  EXPECT_EQ(PositionsOf(rows[0]), 6);
  EXPECT_TRUE(text.IsPlaced(below));
  EXPECT_FALSE(text.IsPlaced(beside));
  EXPECT_EQ(cache.free_slots(), 64 - 7);
  text.KeepPath({TokenTree::kRoot, child}, /*compact=*/true);
  EXPECT_EQ(Tokens(text.tokens()), (std::vector<TokenId>{1, 2, 3, 4, 5}));
  EXPECT_EQ(text.held(), 5);
  EXPECT_EQ(cache.free_slots(), 64 - 5);
}

TEST(CachedText, OnlyTheLastPlacedNodesAreTakenBack) {
  const auto cache = SmallCache();
  CachedText text(*cache);
  text.Append({1, 2});
  std::vector<PassRow> rows;
  TokenTree tree(3);
  Must(text.PlaceMore(tree, {TokenTree::kRoot}, nullptr, rows));
  text.TakeBackMore();
  EXPECT_EQ(text.tree(), nullptr);
  EXPECT_EQ(text.held(), 0) << "the text's rows were part of that pass";
  EXPECT_EQ(cache->free_slots(), 64);
  Must(text.PlaceMore(tree, {TokenTree::kRoot}, nullptr, rows));
  const int child = tree.Add(TokenTree::kRoot, 4, 0.5f);
  Must(text.PlaceMore(tree, {child}, nullptr, rows));
  text.TakeBackMore();
  EXPECT_TRUE(text.IsPlaced(TokenTree::kRoot));
  EXPECT_FALSE(text.IsPlaced(child));
  EXPECT_EQ(cache->free_slots(), 61);
  Must(text.PlaceMore(tree, {child}, nullptr, rows));
  text.KeepPath({TokenTree::kRoot, child}, /*compact=*/true);
  EXPECT_EQ(text.held(), 4);
}

TEST(CachedText, NodesWithoutRoomLeaveThePlacedNodes) {
  const auto cache = SmallCache(/*slots=*/16);
  CachedText text(*cache);
  text.Append(std::vector<TokenId>(14, 1));
  std::vector<PassRow> rows;
  TokenTree tree(2);
  Must(text.PlaceMore(tree, {TokenTree::kRoot}, nullptr, rows));
  const int first = tree.Add(TokenTree::kRoot, 3, 0.5f), second = tree.Add(TokenTree::kRoot, 4, 0.5f);
  rows.clear();
  EXPECT_EQ(text.PlaceMore(tree, {first, second}, nullptr, rows).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(rows.empty());
  EXPECT_TRUE(text.IsPlaced(TokenTree::kRoot));
  EXPECT_FALSE(text.IsPlaced(first));
  EXPECT_EQ(cache->free_slots(), 1);
}

TEST(CachedText, ALiftedRootIsPlacedAndNoText) {
  const auto cache = SmallCache(64, /*windows=*/{0, 8});
  CachedText text(*cache);
  std::vector<PassRow> rows;
  TokenTree tree(1);
  Must(text.PlaceMore(tree, {TokenTree::kRoot}, nullptr, rows));
  for (TokenId token = 2; token < 40; ++token) {   // Beyond windows, again and again.
    TokenTree next(token - 1);
    const int node = next.Add(TokenTree::kRoot, token, 0.5f), other = next.Add(TokenTree::kRoot, 50, 0.5f);
    Must(cache->MakeRoom(2));
    rows.clear();
    Must(text.PlaceMore(next, {node, other}, nullptr, rows));
    EXPECT_EQ(PositionsOf(rows[0]), token);
    text.KeepPath({TokenTree::kRoot, node}, /*compact=*/true);
    text.LiftRoot();
    EXPECT_EQ(text.length(), token - 1);
    EXPECT_EQ(text.held(), token - 1);
    EXPECT_TRUE(text.IsPlaced(TokenTree::kRoot));
    EXPECT_EQ((*text.tree())[TokenTree::kRoot].token, token);
    EXPECT_EQ(cache->free_slots(), 64 - token);
  }
  text.KeepPath({}, /*compact=*/false);
  EXPECT_EQ(text.length(), 38);
  EXPECT_EQ(cache->free_slots(), 64 - 38);
}

TEST(CachedText, AForkSharesItsPrefix) {
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

TEST(CachedText, AnAbandonedTextNoLongerTouchesTheCache) {
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
