// Beginnings that the cache holds: the longest is found, the least recently used goes first.
#include "tessera/runtime/engine/prefix_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "tessera/runtime/scheduler/stream.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_adapter.h"

namespace tessera {
namespace {

class PrefixIndexTest : public testing::Test {
 protected:
  // A text whose tokens are all in the cache.
  std::unique_ptr<CachedText> Held(const std::vector<TokenId>& tokens) {
    auto text = std::make_unique<CachedText>(*cache_);
    text->Append(tokens);
    std::vector<PassRow> rows;
    Must(cache_->MakeRoom(static_cast<int>(tokens.size())));
    Must(text->PlaceNext(static_cast<int>(tokens.size()), nullptr, rows));
    return text;
  }

  std::unique_ptr<KvCache> cache_ = Must(KvCache::Create({.layers = 1, .heads = 1, .head_size = 16, .slots = 64}));
};

TEST_F(PrefixIndexTest, HeaderExample) {
  KvCache& cache = *cache_;
  std::unique_ptr<CachedText> ended_text = Held({1, 2, 3});
  const std::vector<TokenId> prompt = {1, 2, 4};
  const StreamOptions options;
  const int rows = 63;
  PrefixIndex prefixes;
  const PrefixIndex::AdapterKey adapter = PrefixIndex::KeyOf(options.adapter);
  prefixes.Keep(std::move(ended_text), adapter);
  std::unique_ptr<CachedText> begun = prefixes.Take(prompt, adapter);
  ASSERT_NE(begun, nullptr);
  EXPECT_EQ(begun->held(), 2);
  begun = nullptr;
  while (cache.RoomFor(rows) < rows && prefixes.EvictOldest()) {}
  EXPECT_EQ(prefixes.size(), 0);
  EXPECT_EQ(cache.free_slots(), 64);
}

TEST_F(PrefixIndexTest, TakesTheLongestOfTheSameAdapterAndLeavesALastToken) {
  PrefixIndex prefixes;
  prefixes.Keep(Held({1, 2, 3, 4}), 0);
  prefixes.Keep(Held({1, 2, 9}), 0);
  prefixes.Keep(Held({1, 2, 3, 4, 5}), 7);
  EXPECT_EQ(prefixes.Take({1, 2, 3, 4, 5}, 0)->held(), 4);
  EXPECT_EQ(prefixes.Take({1, 2, 3, 4}, 0)->held(), 3) << "the last is computed, for its logits";
  EXPECT_EQ(prefixes.Take({1, 2, 9, 9}, 0)->held(), 3);
  EXPECT_EQ(prefixes.Take({1, 2, 3, 4, 5, 6}, 7)->held(), 5);
  EXPECT_EQ(prefixes.Take({1, 2}, 8), nullptr);
  EXPECT_EQ(prefixes.Take({2}, 0), nullptr);
}

TEST_F(PrefixIndexTest, TheLongestPrefixIsTaken) {
  PrefixIndex prefixes;
  prefixes.Keep(Held({1, 2, 3, 4}), 0);
  prefixes.Keep(Held({1, 2, 9}), 0);
  const std::vector<std::vector<TokenId>> prompts = {{1, 2, 3, 4, 5}, {1, 2, 3, 4}, {1, 2, 3}, {1, 2, 9, 9}, {1}};
  for (const std::vector<TokenId>& tokens : prompts) {
    const int longest = prefixes.Longest(tokens, 0);
    const std::unique_ptr<CachedText> begun = prefixes.Take(tokens, 0);
    EXPECT_EQ(longest, begun == nullptr ? 0 : begun->held()) << tokens.size() << " tokens";
    EXPECT_LT(longest, static_cast<int>(tokens.size())) << "the last is computed, for its logits";
  }
}

// llama.cpp#26207: keys and values of one adapter in a text with another.
TEST_F(PrefixIndexTest, KeysTellAdaptersAndScalesApart) {
  ModelConfig config;
  config.layers.resize(2);
  config.width = 32;
  config.feed_forward = 32;
  config.heads = config.kv_heads = 2;
  config.head_size = 16;
  const LoraAdapter adapter = RandomAdapter(config, /*rank=*/2, kAllTargets, /*seed=*/1), same = RandomAdapter(config, 2, kAllTargets, 1);
  const LoraAdapter half = RandomAdapter(config, 2, kAllTargets, 1, /*scale=*/0.5f), other = RandomAdapter(config, 2, kAllTargets, 2);
  const LoraAdapter fewer = RandomAdapter(config, 2, kAllTargets & ~1u, 1), nothing = Must(LoraAdapter::Create(2, kLoraTargets));
  std::set<PrefixIndex::AdapterKey> keys;
  for (const LoraAdapter* const each : {&adapter, &same, &half, &other, &fewer, &nothing}) keys.insert(PrefixIndex::KeyOf(each));
  keys.insert(PrefixIndex::KeyOf(nullptr));
  EXPECT_EQ(keys.size(), 7u) << "each is who it is, the same numbers or not";
  PrefixIndex prefixes;
  prefixes.Keep(Held({1, 2, 3, 4}), PrefixIndex::KeyOf(&adapter));
  EXPECT_EQ(prefixes.Take({1, 2, 3, 4, 5}, PrefixIndex::KeyOf(&adapter))->held(), 4);
  for (const LoraAdapter* const each : {&same, &half, &other, &fewer, &nothing}) {
    EXPECT_EQ(prefixes.Take({1, 2, 3, 4, 5}, PrefixIndex::KeyOf(each)), nullptr);
  }
  EXPECT_EQ(prefixes.Longest({1, 2, 3, 4, 5}, PrefixIndex::KeyOf(nullptr)), 0);
}

TEST_F(PrefixIndexTest, APrefixOfAKeptTextIsNotKeptBesideThatText) {
  PrefixIndex prefixes;
  prefixes.Keep(Held({1, 2, 3}), 0);
  prefixes.Keep(Held({1, 2}), 0);
  EXPECT_EQ(prefixes.size(), 1);
  prefixes.Keep(Held({1, 2, 3, 4}), 0);
  EXPECT_EQ(prefixes.size(), 1);
  EXPECT_EQ(prefixes.held(), 4);
}

TEST_F(PrefixIndexTest, TheLeastRecentlyUsedGoesFirst) {
  PrefixIndex prefixes;
  prefixes.Keep(Held({1, 1, 1}), 0);
  prefixes.Keep(Held({2, 2, 2}), 0);
  prefixes.Take({1, 1, 5}, 0);
  EXPECT_TRUE(prefixes.EvictOldest());
  EXPECT_EQ(prefixes.Longest({2, 2, 2}, 0), 0);
  EXPECT_EQ(prefixes.Longest({1, 1, 5}, 0), 2);
  EXPECT_TRUE(prefixes.EvictOldest());
  EXPECT_FALSE(prefixes.EvictOldest());
}

}  // namespace
}  // namespace tessera
