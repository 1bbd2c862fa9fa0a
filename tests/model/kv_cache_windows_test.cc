// KvCache where layers attend to a window: its memory, which positions are given up and when, and that none is that a row still reads.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/model/kv_cache.h"

namespace tessera {
namespace {

using SequenceId = KvCache::SequenceId;
constexpr int kWindow = 24, kPass = 8, kSlots = 48;  // Slots of the window's group: 24 + 8 + 16, a multiple of 16.

std::unique_ptr<KvCache> WindowedCache(int sequences = 1, uint64_t scatter_seed = 0) {
  auto cache = KvCache::Create({.layers = 3, .heads = 1, .head_size = 4, .slots = 1024, .windows = {kWindow, 0, kWindow},
                                .largest_pass = kPass, .sequences = sequences, .scatter_seed = scatter_seed});
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}

void Pass(KvCache& cache, SequenceId sequence, int rows) {
  const absl::Status room = cache.MakeRoom(rows), added = cache.Extend(sequence, rows);
  CHECK(room.ok() && added.ok()) << room << " " << added;
}

void GrowTo(KvCache& cache, SequenceId sequence, int length) {
  while (cache.Length(sequence) < length) Pass(cache, sequence, std::min(kPass, length - cache.Length(sequence)));
}

TEST(KvCacheWindows, AGroupHasRoomForTheWindowAPassAndABlockWhateverTheContext) {
  const auto cache = WindowedCache();
  EXPECT_EQ(cache->groups(), 2);
  EXPECT_EQ(cache->GroupOf(0), 1);
  EXPECT_EQ(cache->GroupOf(1), 0);
  EXPECT_EQ(cache->View(0).slots(), kSlots);
  EXPECT_EQ(cache->View(1).slots(), 1024);
  EXPECT_EQ(cache->bytes(), (1024 + 2 * kSlots) * (4 + 16) * 2) << "slots of the three layers, keys and padded values, FP16";
  EXPECT_EQ(WindowedCache(3)->View(2).slots(), 3 * kSlots);
}

// Gemma 3 270M: 18 layers, every sixth of which attends to all 8192 positions, the others to 512.
TEST(KvCacheWindows, Gemma3TakesLessThanAThird) {
  KvCache::Options options = {.layers = 18, .heads = 1, .head_size = 256, .slots = 8192};
  EXPECT_EQ(*KvCache::BytesFor(options), 150'994'944);
  for (int layer = 0; layer < 18; ++layer) options.windows.push_back(layer % 6 == 5 ? 0 : 512);
  options.largest_pass = 512;
  EXPECT_EQ(*KvCache::BytesFor(options), (3 * 8192 + 15 * 1040) * int64_t{1024});  // 41,140,224.
}

TEST(KvCacheWindows, AWindowThatWouldSaveNothingIsKeptInFull) {
  KvCache::Options options = {.layers = 2, .heads = 1, .head_size = 4, .slots = 96, .windows = {0, 40}, .largest_pass = 8};
  EXPECT_EQ((*KvCache::Create(options))->groups(), 2);
  options.slots = 64;  // 40 + 8 + 16.
  EXPECT_EQ((*KvCache::Create(options))->groups(), 1);
  options.slots = 96;
  options.sequences = 2;
  EXPECT_EQ((*KvCache::Create(options))->groups(), 1);
}

TEST(KvCacheWindows, ImpossibleWindowsAreNamed) {
  KvCache::Options options = {.layers = 2, .heads = 1, .head_size = 4, .slots = 96, .windows = {0}};
  EXPECT_EQ(KvCache::Create(options).status().message(), "KV cache windows: found 1, expected none or one for each of 2 layers");
  options.windows = {0, -3};
  EXPECT_EQ(KvCache::Create(options).status().message(), "KV cache window: found -3, expected 0 or more");
}

// In a ring: position p lies in slot p modulo the slots.
TEST(KvCacheWindows, ALongTextLiesInARing) {
  const auto cache = WindowedCache();
  const SequenceId text = cache->NewSequence();
  for (int length = 1; length <= 500; ++length) {
    Pass(*cache, text, 1);
    const KvCache::Path path = cache->PathsOf(text, length)[1];
    ASSERT_LE(path.size(), 3u) << "those given up, and two runs";
    ASSERT_EQ(path.back().begin + path.back().count - 1, (length - 1) % kSlots);
  }
  EXPECT_EQ(cache->PathsOf(text, 500)[0], (KvCache::Path{{0, 500}}));
}

TEST(KvCacheWindows, TruncatingByUpToOnePassLeavesTheSequenceExtendable) {
  for (int length = 1; length < 200; ++length) {
    for (int rows = 1; rows <= kPass; ++rows) {
      const auto cache = WindowedCache();
      const SequenceId text = cache->NewSequence();
      GrowTo(*cache, text, length);
      Pass(*cache, text, rows);
      cache->Truncate(text, length + rows - std::min(length + rows, kPass));
      ASSERT_TRUE(cache->CanExtend(text)) << length << " and " << rows;
    }
  }
}

TEST(KvCacheWindows, ASequenceCutBackFurtherCanOnlyBeginAnew) {
  const auto cache = WindowedCache(/*sequences=*/2);
  const SequenceId text = cache->NewSequence();
  GrowTo(*cache, text, 200);
  const SequenceId fork = *cache->Fork(text, 100);
  EXPECT_FALSE(cache->CanExtend(fork));
  EXPECT_EQ(cache->Extend(fork, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cache->Extend(fork, 1).message(),
            "KV cache: the windows of a sequence of length 100 were given up; expected it to be truncated to 0 first");
  EXPECT_TRUE(cache->CanExtend(text));
  cache->Truncate(fork, 0);
  EXPECT_TRUE(cache->CanExtend(fork));
  GrowTo(*cache, fork, 100);
  EXPECT_TRUE(cache->CanExtend(fork) && cache->CanExtend(text));
  cache->Release(text);
  cache->Release(fork);
  EXPECT_EQ(cache->nodes(), 0);
  EXPECT_EQ(cache->free_slots(), 1024);
  Pass(*cache, cache->NewSequence(), 2 * kSlots);  // All of the ring's slots are free, too.
}

TEST(KvCacheWindows, ExhaustionCountsSlotsThatCouldBeReleased) {
  const auto cache = WindowedCache();
  const SequenceId first = cache->NewSequence(), second = cache->NewSequence();
  GrowTo(*cache, first, 100);
  Pass(*cache, second, 8);
  Pass(*cache, second, 8);
  Pass(*cache, second, 8);  // 23 of 48 slots are the first one's window and 23 the second's, one is to spare, one free.
  const absl::Status status = cache->MakeRoom(3);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "KV cache of layers with a window of 24: wanted 3 slots, found 2 free of 48");
  for (int i = 0; i < 100; ++i) Pass(*cache, i % 2 == 0 ? first : second, 1);
  EXPECT_EQ(cache->Length(second), 74);
}

TEST(KvCacheWindows, RoomIsTakenFromTheSequenceThatHoldsTheMost) {
  const auto cache = WindowedCache(/*sequences=*/2);
  const SequenceId idle = cache->NewSequence(), busy = cache->NewSequence();
  GrowTo(*cache, idle, 30);
  GrowTo(*cache, busy, 1024 - 30);
  cache->Truncate(idle, 24);
  EXPECT_TRUE(cache->CanExtend(idle));
}

// What is known of a position of one path: its slot in the window's group, as told when it was added.
struct Text { SequenceId id; std::vector<int32_t> slots; };

// Random passes over sequences and their forks. After each pass every row of it must find its window in the slots that its positions
// were given, and no slot may be given to two positions that somebody still reads.
class RandomPasses {
 public:
  RandomPasses(uint64_t seed, uint64_t scatter_seed) : cache_(WindowedCache(4, scatter_seed)), random_(seed) {}

  void Step() {
    const int64_t kind = texts_.empty() ? 0 : random_.Below(10);
    if (kind == 0 && texts_.size() < 5) {
      texts_.push_back({cache_->NewSequence(), {}});
    } else if (kind == 1 && texts_.size() < 5) {
      Fork();
    } else if (kind == 2) {
      Truncate(Any());
    } else if (kind == 3 && texts_.size() > 2) {
      Release(Any());
    } else {
      PassOverSome();
    }
  }
  void ReleaseAll() {
    while (!texts_.empty()) Release(0);
    EXPECT_EQ(cache_->free_slots(), 1024);
    EXPECT_EQ(cache_->nodes(), 0);
    EXPECT_TRUE(cache_->MakeRoom(4 * kSlots).ok());
  }
  int lost() const { return lost_; }

 private:
  size_t Any() { return static_cast<size_t>(random_.Below(static_cast<int64_t>(texts_.size()))); }
  void Fork() {
    Text fork = texts_[Any()];
    fork.slots.resize(random_.Below(static_cast<int64_t>(fork.slots.size()) + 1));
    fork.id = *cache_->Fork(fork.id, static_cast<int>(fork.slots.size()));
    texts_.push_back(fork);
  }
  void Truncate(size_t i) {
    const size_t length = texts_[i].slots.size(), cut = random_.Below(std::min<int64_t>(40, length + 1));
    texts_[i].slots.resize(length - cut);
    cache_->Truncate(texts_[i].id, static_cast<int>(length - cut));
  }
  void Release(size_t i) {
    cache_->Release(texts_[i].id);
    texts_.erase(texts_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void PassOverSome() {
    ASSERT_TRUE(cache_->MakeRoom(3 * kPass).ok());
    std::vector<std::pair<size_t, int>> rows;  // Text and length.
    for (int part = 0; part < 3; ++part) {
      const size_t i = Any();
      Text& text = texts_[i];
      if (!cache_->CanExtend(text.id)) {
        ++lost_;
        text.slots.clear();
        cache_->Truncate(text.id, 0);
      }
      const int count = static_cast<int>(random_.Below(kPass + 1));
      ASSERT_TRUE(cache_->Extend(text.id, count).ok());
      for (int added = 0; added < count; ++added) {
        const KvCache::Path path = cache_->PathsOf(text.id, static_cast<int>(text.slots.size()) + 1)[1];
        text.slots.push_back(path.back().begin + path.back().count - 1);
        rows.emplace_back(i, static_cast<int>(text.slots.size()));
      }
    }
    for (const auto& [i, length] : rows) CheckRow(texts_[i], length);
    CheckSlotsDiffer();
  }

  static void CheckRow(const Text& text, const KvCache& cache, int length) {
    const KvCache::Path path = cache.PathsOf(text.id, length)[1];
    int position = 0;
    for (size_t r = 0; r < path.size(); ++r) {
      if (path[r].begin == kNoSlot) {
        ASSERT_EQ(r, 0u);
        ASSERT_LE(path[r].count, length - kWindow);
        position = path[r].count;
        continue;
      }
      for (int i = 0; i < path[r].count; ++i) ASSERT_EQ(path[r].begin + i, text.slots[position++]) << "position " << position - 1;
    }
    ASSERT_EQ(position, length);
  }
  void CheckRow(const Text& text, int length) { CheckRow(text, *cache_, length); }

  // If positions that a next row reads share a slot, they must share their beginning.
  void CheckSlotsDiffer() {
    std::map<int32_t, std::vector<int32_t>> beginnings;
    for (const Text& text : texts_) {
      if (!cache_->CanExtend(text.id)) continue;
      for (size_t p = std::max<int>(0, static_cast<int>(text.slots.size()) - kWindow + 1); p < text.slots.size(); ++p) {
        const std::vector<int32_t> beginning(text.slots.begin(), text.slots.begin() + static_cast<std::ptrdiff_t>(p));
        const auto [known, added] = beginnings.emplace(text.slots[p], beginning);
        ASSERT_EQ(known->second, beginning) << "slot " << text.slots[p];
      }
    }
  }

  std::unique_ptr<KvCache> cache_;
  std::vector<Text> texts_;
  SeededRandom random_;
  int lost_ = 0;
};

TEST(KvCacheWindows, NothingIsGivenUpThatARowStillReads) {
  for (const uint64_t scatter_seed : {0, 7}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      RandomPasses passes(seed, scatter_seed);
      for (int i = 0; i < 1500; ++i) {
        passes.Step();
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", scatter seed " << scatter_seed << ", step " << i;
      }
      EXPECT_GT(passes.lost(), 10);
      passes.ReleaseAll();
    }
  }
}

}  // namespace
}  // namespace tessera
