// Moving accepted drafts: what was written at a position is read there afterwards, and paths become short.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/model/kv_cache.h"
#include "tessera/tests/fakes/kv_contents.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

using SequenceId = KvCache::SequenceId;

TEST(KvCacheCompact, AnAcceptedBranchFollowsItsText) {
  const auto cache = Must(KvCache::Create({.layers = 2, .heads = 2, .head_size = 8, .slots = 256, .largest_pass = 16}));
  KvContents<uint16_t> contents(*cache, 2);
  const SequenceId text = cache->NewSequence();
  Must(cache->Extend(text, 40));
  contents.Write(text, 0, 1);
  const SequenceId branch = Must(cache->Fork(text, 40));
  Must(cache->Extend(text, 6));    // The likeliest path of a draft,
  Must(cache->Extend(branch, 5));  // and the one that is right.
  contents.Write(branch, 40, 2);
  ASSERT_EQ(cache->PathsOf(branch, 45)[0].size(), 2u);

  cache->Release(text);
  cache->Compact(branch, 40);
  EXPECT_EQ(cache->PathsOf(branch, 45)[0].size(), 1u);
  contents.Expect(branch, 0, 40, 1);
  contents.Expect(branch, 40, 45, 2);
  EXPECT_EQ(cache->free_slots(), 256 - 45);
}

TEST(KvCacheCompact, LeavesAloneSharedSlotsAndContiguousSlots) {
  const auto cache = Must(KvCache::Create({.layers = 1, .heads = 1, .head_size = 4, .slots = 64}));
  const SequenceId text = cache->NewSequence();
  Must(cache->Extend(text, 20));
  const KvCache::Paths before = cache->PathsOf(text, 20);
  cache->Compact(text, 7);
  EXPECT_EQ(cache->PathsOf(text, 20), before);

  const SequenceId other = Must(cache->Fork(text, 10));
  Must(cache->Extend(other, 3));
  const KvCache::Paths forked = cache->PathsOf(other, 13);
  cache->Compact(other, 4);
  cache->Compact(other, 10);  // The text still has the slots after position 9.
  EXPECT_EQ(cache->PathsOf(other, 13), forked);
}

// Trees of random shape, of which a random path is kept, beside another sequence that takes slots meanwhile.
template <typename Element>
void KeepRandomPaths(KvFormat format, uint64_t scatter_seed, std::vector<int> windows) {
  const int layers = 3;
  const auto cache = Must(KvCache::Create({.layers = layers, .heads = 2, .head_size = 12, .slots = 320, .format = format,
      .windows = std::move(windows), .largest_pass = 12, .sequences = 2, .scatter_seed = scatter_seed}));
  KvContents<Element> contents(*cache, layers);
  SeededRandom random(scatter_seed + 5);
  SequenceId text = cache->NewSequence();
  const SequenceId other = cache->NewSequence();
  size_t most_ranges = 0;
  while (cache->Length(text) < 200) {
    const int length = cache->Length(text);
    Must(cache->MakeRoom(12));
    std::vector<SequenceId> leaves = {text};
    Must(cache->Extend(text, 1 + static_cast<int>(random.Below(4))));
    for (int i = 0; i < 2; ++i) {
      leaves.push_back(Must(cache->Fork(text, length + static_cast<int>(random.Below(cache->Length(text) - length + 1)))));
      Must(cache->Extend(leaves.back(), 1 + static_cast<int>(random.Below(3))));
    }
    if (random.Below(8) == 0 && cache->Length(other) < 40) Must(cache->Extend(other, 2));
    const SequenceId kept = leaves[random.Below(leaves.size())];
    for (const SequenceId leaf : leaves) {
      if (leaf != kept) cache->Release(leaf);
    }
    contents.Write(kept, length, 1);
    cache->Compact(kept, length);
    text = kept;
    contents.Expect(text, std::max(0, cache->Length(text) - 40), -1, 1);
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << cache->Length(text);
    most_ranges = std::max<size_t>(most_ranges, cache->PathsOf(text, cache->Length(text))[0].size());
  }
  if (scatter_seed == 0) {
    EXPECT_LE(most_ranges, 12u);
  }
}

TEST(KvCacheCompact, RandomPathsKeepTheWrittenContents) {
  for (const uint64_t scatter_seed : {0, 9}) {
    KeepRandomPaths<uint16_t>(KvFormat::kHalf, scatter_seed, {});
    KeepRandomPaths<uint16_t>(KvFormat::kHalf, scatter_seed, {0, 48, 48});
    KeepRandomPaths<float>(KvFormat::kFloat, scatter_seed, {48, 0, 48});
    KeepRandomPaths<int8_t>(KvFormat::kInt8, scatter_seed, {0, 48, 0});
  }
}

}  // namespace
}  // namespace tessera
