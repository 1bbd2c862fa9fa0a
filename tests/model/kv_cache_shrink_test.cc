// A cache that is made smaller: what is taken stays as it is, and what was given back is never used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/model/kv_cache.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr int kHeadSize = 64;

std::unique_ptr<KvCache> Cache(int slots, uint64_t scatter_seed, std::vector<int> windows = {}) {
  return Must(KvCache::Create({.layers = 2,
                               .heads = 2,
                               .head_size = kHeadSize,
                               .slots = slots,
                               .windows = std::move(windows),
                               .largest_pass = 16,
                               .scatter_seed = scatter_seed}));
}

int HighestSlot(const KvCache& cache, const std::vector<KvCache::SequenceId>& sequences) {
  int highest = -1;
  for (const KvCache::SequenceId sequence : sequences) {
    for (const SlotRange& range : cache.PathsOf(sequence, cache.Length(sequence))[0]) {
      highest = std::max(highest, range.begin + range.count - 1);
    }
  }
  return highest;
}

uint16_t& FirstKey(KvCache& cache, int slot) {
  const KvView view = cache.View(0);
  return view.Keys<uint16_t>(0, 1)[view.KeyIndex(slot, 0)];
}

TEST(KvCacheShrink, GivesBackTheLastSlotsAsFarAsTheyAreFree) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto cache = Cache(1024, seed % 3 == 0 ? seed : 0);
    uint64_t draws = 0;
    const auto below = [&](int end) { return static_cast<int>(CounterRandom(seed, 1, draws++) % end); };
    std::vector<KvCache::SequenceId> sequences;
    for (int i = 0; i < 6; ++i) {
      sequences.push_back(cache->NewSequence());
      Must(cache->Extend(sequences.back(), 1 + below(120)));
    }
    for (int i = 0; i < 3; ++i) {
      std::swap(sequences[below(static_cast<int>(sequences.size()))], sequences.back());
      cache->Release(sequences.back());
      sequences.pop_back();
    }
    const int used = cache->slots() - cache->free_slots(), highest = HighestSlot(*cache, sequences), least = below(800);
    FirstKey(*cache, highest) = 77;
    const int64_t before = cache->bytes();
    EXPECT_EQ(cache->Shrink(least), std::max(least, highest + 1));
    EXPECT_EQ(cache->slots(), std::max(least, highest + 1));
    EXPECT_EQ(cache->free_slots(), cache->slots() - used);
    EXPECT_LE(cache->bytes(), before);
    EXPECT_EQ(FirstKey(*cache, highest), 77);

    const int room = cache->RoomFor(2000);
    EXPECT_EQ(room, cache->free_slots());
    EXPECT_TRUE(absl::IsResourceExhausted(cache->MakeRoom(room + 1)));
    Must(cache->Extend(sequences[0], room));
    EXPECT_LT(HighestSlot(*cache, sequences), cache->slots());
    EXPECT_EQ(cache->Shrink(0), HighestSlot(*cache, sequences) + 1) << "all are taken";
  }
}

TEST(KvCacheShrink, TheMemoryIsGivenBackAndCounted) {
  const auto cache = Cache(4096, 0);
  const KvCache::SequenceId text = cache->NewSequence(), other = cache->NewSequence();
  Must(cache->Extend(text, 100));
  Must(cache->Extend(other, 3000));
  const int slot = 2000;
  FirstKey(*cache, slot) = 5;
  cache->Release(other);
  const int64_t before = cache->bytes();
  EXPECT_EQ(cache->Shrink(512), 512);
  EXPECT_EQ(FirstKey(*cache, slot), 0) << "as memory is that was never touched";
  EXPECT_GT(before - cache->bytes(), before * 8 / 10);
  EXPECT_LT(cache->bytes() * 8, before + 8 * 4096 * 16);
}

TEST(KvCacheShrink, WhatAWindowNeedsStays) {
  const auto cache = Cache(4096, 0, {64, 64});
  const int slots = cache->slots();
  EXPECT_EQ(cache->Shrink(0), slots);
}

}  // namespace
}  // namespace tessera
