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
    const KvCache::Paths paths = cache.PathsOf(sequence, cache.Length(sequence));
    for (const SlotRange& range : paths[0]) {
      highest = std::max(highest, range.begin + range.count - 1);
    }
  }
  return highest;
}

uint16_t& FirstKey(KvCache& cache, int slot) {
  const KvView view = cache.View(0);
  return view.Keys<uint16_t>(0, 1)[view.KeyIndex(slot, 0)];
}

// Each position's key tells whose it is.
uint16_t Mark(KvCache::SequenceId sequence, int position) { return static_cast<uint16_t>(1 + sequence * 1000 + position); }

template <typename Visit>
void ForEachPosition(const KvCache& cache, KvCache::SequenceId sequence, Visit visit) {
  int position = 0;
  const KvCache::Paths paths = cache.PathsOf(sequence, cache.Length(sequence));
  for (const SlotRange& range : paths[0]) {
    for (int i = 0; i < range.count; ++i) visit(position++, range.begin + i);
  }
}

TEST(KvCacheShrink, GivesBackTheLastSlotsAndMovesTheirContents) {
  for (uint64_t seed = 1; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const bool scatters = seed % 3 == 0;
    const auto cache = Cache(1024, scatters ? seed : 0);
    uint64_t draws = 0;
    const auto below = [&](int end) { return static_cast<int>(CounterRandom(seed, 1, draws++) % end); };
    std::vector<KvCache::SequenceId> sequences;
    for (int i = 0; i < 6; ++i) {
      sequences.push_back(cache->NewSequence());
      Must(cache->Extend(sequences.back(), 1 + below(120)));
      ForEachPosition(*cache, sequences.back(), [&](int at, int slot) { FirstKey(*cache, slot) = Mark(sequences.back(), at); });
    }
    for (int i = 0; i < 3; ++i) {
      std::swap(sequences[below(static_cast<int>(sequences.size()))], sequences.back());
      cache->Release(sequences.back());
      sequences.pop_back();
    }
    const int used = cache->slots() - cache->free_slots(), highest = HighestSlot(*cache, sequences), least = below(800);
    const int64_t before = cache->bytes();
    EXPECT_EQ(cache->Shrink(least), std::max(least, scatters ? highest + 1 : used));
    EXPECT_EQ(cache->free_slots(), cache->slots() - used);
    EXPECT_LE(cache->bytes(), before);
    for (const KvCache::SequenceId sequence : sequences) {
      ForEachPosition(*cache, sequence, [&](int at, int slot) {
        EXPECT_LT(slot, cache->slots());
        EXPECT_EQ(FirstKey(*cache, slot), Mark(sequence, at));
      });
    }

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

TEST(KvCacheShrink, TheSlotsOfAWindowStay) {
  const auto cache = Cache(4096, 0, {64, 64});
  const int slots = cache->slots();
  EXPECT_EQ(cache->Shrink(0), slots);
}

}  // namespace
}  // namespace tessera
