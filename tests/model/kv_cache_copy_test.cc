// Keys and values copied out of one cache and into another: what was written at a position is read there, wherever either keeps it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/model/kv_cache.h"
#include "tessera/tests/fakes/kv_contents.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

using SequenceId = KvCache::SequenceId;
constexpr int kLayers = 3, kWindow = 24, kPass = 8;

struct Shape {
  int slots = 512;
  int largest_pass = kPass;
  int sequences = 1;
  uint64_t scatter_seed = 0;
  KvFormat format = KvFormat::kHalf;
  std::vector<int> windows = {};
};

std::unique_ptr<KvCache> CacheOf(const Shape& shape) {
  return Must(KvCache::Create({.layers = kLayers, .heads = 2, .head_size = 12, .slots = shape.slots, .format = shape.format,
                               .windows = shape.windows, .largest_pass = shape.largest_pass, .sequences = shape.sequences,
                               .scatter_seed = shape.scatter_seed}));
}

template <typename Element>
SequenceId Grown(KvCache& cache, int length) {
  KvContents<Element> contents(cache, kLayers);
  const SequenceId text = cache.NewSequence();
  while (cache.Length(text) < length) {
    const int before = cache.Length(text), rows = std::min(kPass, length - before);
    Must(cache.MakeRoom(rows));
    Must(cache.Extend(text, rows));
    contents.Write(text, before, 1);
  }
  return text;
}

std::vector<int> HeldFromOf(const KvCache& cache, SequenceId text) {
  std::vector<int> held_from;
  for (int layer = 0; layer < kLayers; ++layer) held_from.push_back(cache.HeldFrom(text, layer));
  return held_from;
}

// In pieces of a few positions.
void Copy(const KvCache& from, SequenceId text, KvCache& to, SequenceId copy) {
  const int end = from.Length(text);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int first = to.HeldFrom(copy, layer); first < end; first += 7) {
      std::vector<std::byte> bytes(std::min(7, end - first) * from.PositionBytes());
      from.CopyOut(text, layer, first, absl::MakeSpan(bytes));
      to.CopyIn(copy, layer, first, bytes);
    }
  }
}

template <typename Element>
void ExpectCopied(const Shape& from_shape, const Shape& to_shape, int length) {
  const auto from = CacheOf(from_shape), to = CacheOf(to_shape);
  const SequenceId text = Grown<Element>(*from, length), copy = to->NewSequence();
  Must(to->Adopt(copy, length, HeldFromOf(*from, text)));
  EXPECT_EQ(to->Length(copy), length);
  ASSERT_TRUE(to->CanExtend(copy));
  Copy(*from, text, *to, copy);
  KvContents<Element> contents(*to, kLayers);
  contents.Expect(copy, 0, -1, 1);
  Must(to->MakeRoom(kPass));
  Must(to->Extend(copy, kPass));
  to->Release(copy);
  EXPECT_EQ(to->free_slots(), to->slots());
  EXPECT_EQ(to->nodes(), 0);
}

TEST(KvCacheCopy, EveryFormatIsReadWhereWritten) {
  for (const std::vector<int>& windows : {std::vector<int>(), std::vector<int>{kWindow, 0, kWindow}}) {
    for (const uint64_t seed : {0, 5}) {
      Shape from = {.windows = windows}, to = {.slots = 1024, .largest_pass = 16, .scatter_seed = seed, .windows = windows};
      for (const int length : {0, 1, 30, 200}) {
        ExpectCopied<uint16_t>(from, to, length);
        ExpectCopied<uint16_t>(to, from, length);
        from.format = to.format = KvFormat::kInt8;
        ExpectCopied<int8_t>(from, to, length);
        from.format = to.format = KvFormat::kFloat;
        ExpectCopied<float>(from, to, length);
        from.format = to.format = KvFormat::kHalf;
      }
    }
  }
}

// FP16 takes two bytes a number, FP32 four, and 8-bit one and a scale for each key and value.
TEST(KvCacheCopy, APositionHasItsNumbersAndScalesAndNoPadding) {
  EXPECT_EQ(CacheOf({})->PositionBytes(), 2 * 2 * 12 * 2);
  EXPECT_EQ(CacheOf({.format = KvFormat::kFloat})->PositionBytes(), 2 * 2 * 12 * 4);
  EXPECT_EQ(CacheOf({.format = KvFormat::kInt8})->PositionBytes(), 2 * 2 * (12 + 4));
}

TEST(KvCacheCopy, PositionsOutsideTheWindowAreNotHeld) {
  const auto cache = CacheOf({.windows = {kWindow, 0, kWindow}});
  const SequenceId text = Grown<uint16_t>(*cache, 200);
  const std::vector<int> held_from = HeldFromOf(*cache, text);
  EXPECT_EQ(held_from, (std::vector<int>{held_from[0], 0, held_from[0]}));
  EXPECT_GE(held_from[0], 200 - 48) << "the ring has 24 + 8 + 16 slots";
  EXPECT_LE(held_from[0], 200 - kWindow + 1);
}

// The ring takes what next rows read, and more while it has room: as much as a draft that is taken back needs.
TEST(KvCacheCopy, ARingTakesTheLastPositionsOfAFullSequence) {
  const auto full = CacheOf({}), ring = CacheOf({.windows = {kWindow, 0, kWindow}});
  const SequenceId text = Grown<uint16_t>(*full, 200), copy = ring->NewSequence();
  Must(ring->Adopt(copy, 200, HeldFromOf(*full, text)));
  EXPECT_EQ(HeldFromOf(*ring, copy), (std::vector<int>{200 - 48, 0, 200 - 48}));
  Copy(*full, text, *ring, copy);
  KvContents<uint16_t>(*ring, kLayers).Expect(copy, 0, -1, 1);
  ring->Truncate(copy, 200 - kPass);
  EXPECT_TRUE(ring->CanExtend(copy));
}

TEST(KvCacheCopy, PositionsThatNextRowsReadMustBeHeld) {
  const auto cache = CacheOf({.windows = {kWindow, 0, kWindow}});
  const SequenceId text = cache->NewSequence();
  const absl::Status all = cache->Adopt(text, 100, {0, 1, 0}), window = cache->Adopt(text, 100, {77, 0, 78});
  EXPECT_EQ(all, absl::FailedPreconditionError("KV cache: layer 1 of a sequence of length 100: found positions from 1 on, expected them "
                                               "from 0 on"));
  EXPECT_EQ(window, absl::FailedPreconditionError("KV cache: layer 2 of a sequence of length 100: found positions from 78 on, expected "
                                                  "them from 77 on"));
  EXPECT_EQ(cache->Length(text), 0);
  EXPECT_EQ(cache->free_slots(), cache->slots());
  Must(cache->Adopt(text, 100, {77, 0, 77}));
  EXPECT_EQ(HeldFromOf(*cache, text), (std::vector<int>{77, 0, 77}));
  Must(cache->MakeRoom(1));
  Must(cache->Extend(text, 1));
}

TEST(KvCacheCopy, WithoutRoomNothingIsAdopted) {
  const auto cache = CacheOf({.slots = 256, .windows = {kWindow, 0, kWindow}});
  const SequenceId other = Grown<uint16_t>(*cache, 60), second = cache->NewSequence(), text = cache->NewSequence();
  Must(cache->Adopt(second, 60, {37, 0, 37}));
  EXPECT_EQ(cache->Adopt(text, 137, {0, 0, 0}).message(), "KV cache: wanted 137 slots, found 136 free of 256");
  EXPECT_EQ(cache->Adopt(text, 60, {0, 0, 0}).message(), "KV cache of layers with a window of 24: wanted 23 slots, found 2 free of 48");
  EXPECT_EQ(cache->Length(text), 0);
  EXPECT_TRUE(cache->CanExtend(other));
  cache->Release(second);
  Must(cache->Adopt(text, 60, {0, 0, 0}));
}

// Truncated, forked and released as if it had been computed here.
TEST(KvCacheCopy, AnAdoptedSequenceIsASequence) {
  const auto from = CacheOf({}), to = CacheOf({.scatter_seed = 3});
  const SequenceId text = Grown<uint16_t>(*from, 100), copy = to->NewSequence();
  Must(to->Adopt(copy, 100, HeldFromOf(*from, text)));
  Copy(*from, text, *to, copy);
  KvContents<uint16_t> contents(*to, kLayers);
  const SequenceId fork = Must(to->Fork(copy, 50));
  to->Truncate(copy, 70);
  Must(to->Extend(fork, 3));
  contents.Write(fork, 50, 2);
  contents.Expect(copy, 0, -1, 1);
  contents.Expect(fork, 0, 50, 1);
  contents.Expect(fork, 50, -1, 2);
  to->Release(copy);
  contents.Expect(fork, 0, 50, 1);
  to->Release(fork);
  EXPECT_EQ(to->free_slots(), to->slots());
}

}  // namespace
}  // namespace tessera
