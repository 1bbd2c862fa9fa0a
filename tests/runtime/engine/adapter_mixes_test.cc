// Adapters composed of others: who is the same as whom, and what memory holds.
#include "tessera/runtime/engine/adapter_mixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_adapter.h"

namespace tessera {
namespace {

constexpr int kRank = 4;
LoraAdapter Part(int number) {
  return RandomAdapter(SmallConfig(1), kRank, kAllTargets, static_cast<uint64_t>(number), 1, BlockFormat::kF16);
}
const int64_t kBytes = Part(0).bytes();   // A part has so many.

// Parts 0 to 3 and what is composed of them, in a cache that has room for so many parts.
struct Mixed {
  explicit Mixed(int64_t parts, int most_known = AdapterMixes::kMostKnown, std::vector<int> padded = {})
      : cache({.most_bytes = parts * kBytes}),
        mixes({.cache = &cache, .lease_part = [this](int number) { return cache.Lease(number); }, .shapes = LoraShapesOf(SmallConfig(1)),
               .padded_ranks = std::move(padded), .most_known = most_known}) {
    for (int i = 0; i < 4; ++i) {
      cache.Add({.name = "p" + std::to_string(i), .bytes = kBytes, .read = [i]() -> absl::StatusOr<LoraAdapter> { return Part(i); }});
    }
  }
  absl::StatusOr<AdapterLease> Lease(const AdapterMix& mix) { return mixes.Lease(mixes.NumberOf(mix, "mix")); }

  AdapterCache cache;
  AdapterMixes mixes;
};

TEST(AdapterMixes, HeaderExample) {
  const ModelConfig config = SmallConfig(1);
  const auto run = [&]() -> absl::StatusOr<int> {
    AdapterCache cache({.most_bytes = 4 * kBytes});
    const int style = cache.Add({.name = "style", .bytes = kBytes, .read = [] { return absl::StatusOr<LoraAdapter>(Part(1)); }});
    const int facts = cache.Add({.name = "facts", .bytes = kBytes, .read = [] { return absl::StatusOr<LoraAdapter>(Part(2)); }});
    AdapterMixes mixes({.cache = &cache, .lease_part = [&](int number) { return cache.Lease(number); }, .shapes = LoraShapesOf(config)});
    const int number = mixes.NumberOf({{style, 1}, {facts, 0.5f}}, "style,facts@0.5");
    ASSIGN_OR_RETURN(const AdapterLease adapter, mixes.Lease(number));
    return adapter->Layer(0)[0].rank;
  };
  EXPECT_EQ(Must(run()), 2 * kRank);
}

TEST(AdapterMixes, OnesThatAreAskedForAlikeAreOneAdapter) {
  Mixed mixed(20);
  const AdapterLease first = Must(mixed.Lease({{0, 1}, {1, 0.5f}}));
  EXPECT_EQ(Must(mixed.Lease({{0, 1}, {1, 0.5f}})), first);
  EXPECT_EQ(mixed.cache.stats().reads, 3) << "two parts and the mix";
  std::vector<uint64_t> ids = {first->id()};
  for (const AdapterMix& other : {AdapterMix{{1, 0.5f}, {0, 1}}, AdapterMix{{0, 1}, {1, 0.25f}}, AdapterMix{{0, 1}, {2, 0.5f}},
                                  AdapterMix{{0, 1}, {1, 0.5f}, {2, 1}}, AdapterMix{{0, 0.5f}}}) {
    const uint64_t id = Must(mixed.Lease(other))->id();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 0);
    ids.push_back(id);
  }
  EXPECT_EQ(mixed.mixes.known(), 6);
}

// Keys that were computed with it are still its own.
TEST(AdapterMixes, OneThatHadToLeaveMemoryComesBackAsTheSame) {
  Mixed mixed(4);
  const AdapterMix mix = {{0, 1}, {1, 1}};
  const uint64_t id = Must(mixed.Lease(mix))->id();
  const int number = mixed.mixes.NumberOf(mix, "mix");
  for (int part = 0; part < 4; ++part) Must(mixed.cache.Lease(part));
  ASSERT_FALSE(mixed.cache.IsInMemory(number));
  EXPECT_EQ(Must(mixed.Lease(mix))->id(), id);
}

TEST(AdapterMixes, RoomIsMadeBeforeAMixAndItsPartsMayGoAfterwards) {
  Mixed mixed(4);
  const AdapterLease lease = Must(mixed.Lease({{0, 1}, {1, 1}}));
  EXPECT_EQ(lease->bytes(), 2 * kBytes);
  EXPECT_EQ(mixed.cache.bytes(), 4 * kBytes);
  Must(mixed.cache.Lease(2));
  Must(mixed.cache.Lease(3));
  EXPECT_FALSE(mixed.cache.IsInMemory(0) || mixed.cache.IsInMemory(1));
  const absl::Status full = mixed.Lease({{2, 1}, {3, 1}}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << "there is room once the first one has gone: " << full;
  EXPECT_TRUE(absl::StrContains(full.message(), "adapter \"mix\": ")) << full;
}

TEST(AdapterMixes, AMixThatNeverFitsIsRefusedWithItsNeeds) {
  Mixed mixed(3);
  const absl::Status status = mixed.Lease({{0, 1}, {1, 1}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  const std::string two = FormatByteSize(2 * kBytes);
  EXPECT_EQ(status.message(), absl::StrCat("adapter \"mix\": found ", FormatByteSize(3 * kBytes), " for adapters, expected room for ", two,
                                           " for its parts and ", two, " for what is made of them"));
  EXPECT_EQ(Must(mixed.Lease({{0, 0.5f}}))->bytes(), kBytes) << "the error was its own";
}

TEST(AdapterMixes, OneWhosePartsAloneDoNotFitIsRefusedForGood) {
  Mixed mixed(1);
  Must(mixed.cache.Lease(2));
  const absl::Status status = mixed.Lease({{0, 1}, {1, 1}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "no text's end brings room: " << status;
  EXPECT_TRUE(absl::StrContains(status.message(), FormatByteSize(kBytes))) << status;
}

TEST(AdapterMixes, OneThatWasForgottenIsANewAdapterAndOneThatIsUsedIsNotForgotten) {
  Mixed mixed(20, /*most_known=*/2);
  const AdapterLease used = Must(mixed.Lease({{0, 0.5f}}));
  const uint64_t id = Must(mixed.Lease({{1, 0.5f}}))->id();
  Must(mixed.Lease({{2, 0.5f}}));
  EXPECT_EQ(mixed.mixes.known(), 2);
  EXPECT_EQ(Must(mixed.Lease({{0, 0.5f}})), used);
  EXPECT_NE(Must(mixed.Lease({{1, 0.5f}}))->id(), id);
  const AdapterLease second = Must(mixed.Lease({{3, 0.5f}})), third = Must(mixed.Lease({{3, 0.25f}}));
  EXPECT_EQ(mixed.mixes.known(), 3) << "three are used";
}

TEST(AdapterMixes, PaddingIsCountedAndRanksBeyondThePaddingAreRefused) {
  std::vector<int> ranks = Part(0).Ranks();
  for (int& rank : ranks) rank += 1;
  Mixed mixed(20, AdapterMixes::kMostKnown, ranks);
  EXPECT_EQ(Must(mixed.Lease({{0, 0.5f}}))->bytes(), kBytes / kRank * (kRank + 1));
  const absl::Status status = mixed.Lease({{0, 1}, {1, 1}}).status();
  EXPECT_EQ(status.message(),
            "adapter \"mix\": layer 0 attn_q: found ranks of 8 together, expected at most 5, the rank of the graphs' inputs");
  for (int& rank : ranks) rank = 2 * kRank;
  Mixed just(20, AdapterMixes::kMostKnown, ranks);
  EXPECT_EQ(Must(just.Lease({{0, 1}, {1, 1}}))->bytes(), 2 * kBytes) << "no more than the inputs' rank";
}

TEST(AdapterMixes, RandomUseNeverExceedsItsMemory) {
  SeededRandom random(3);
  Mixed mixed(6, /*most_known=*/5);
  std::vector<AdapterLease> held;
  int refused = 0;
  for (int step = 0; step < 1000; ++step) {
    for (int64_t gone = random.Below(3); gone > 0 && !held.empty(); --gone) {
      held.erase(held.begin() + random.Below(static_cast<int64_t>(held.size())));
    }
    AdapterMix mix = {{static_cast<int>(random.Below(4)), 0.5f}};
    if (random.Below(2) == 0) mix.push_back({(mix[0].number + 1) % 4, 1 + static_cast<float>(random.Below(2))});
    absl::StatusOr<AdapterLease> lease = mixed.Lease(mix);
    ASSERT_LE(mixed.cache.bytes(), 6 * kBytes);
    refused += lease.ok() ? 0 : 1;
    if (!lease.ok()) ASSERT_TRUE(absl::IsResourceExhausted(lease.status())) << lease.status();
    else held.push_back(*std::move(lease));
    if (held.empty()) ASSERT_TRUE(lease.ok()) << "nothing else is used";
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(mixed.cache.stats().evictions, 100);
}

}  // namespace
}  // namespace tessera
