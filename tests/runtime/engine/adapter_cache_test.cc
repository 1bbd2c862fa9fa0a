// Adapters of which memory holds some: who stays, who goes, and what is never there.
#include "tessera/runtime/engine/adapter_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/forged_adapter.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

// It has so many bytes, and `number` is in them.
absl::StatusOr<LoraAdapter> Adapter(int number, int64_t bytes) {
  ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(1, 1));
  const int64_t in = bytes / 2 - 1;
  const std::vector<float> a(static_cast<size_t>(in), static_cast<float>(number));
  RETURN_IF_ERROR(adapter.Set(0, 0, {.in = in, .out = 1, .rank = 1, .scale = 1, .a = a, .b = {1.0f}}));
  return adapter;
}

// A cache of adapters of these sizes, and how often each was read.
struct Sized {
  Sized(int64_t most, const std::vector<int64_t>& sizes, const Clock* clock = nullptr)
      : cache({.most_bytes = most, .clock = clock}), reads(sizes.size()) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      cache.Add({.name = "a" + std::to_string(i), .bytes = sizes[i], .read = [this, i, size = sizes[i]] {
                   ++reads[i];
                   return Adapter(static_cast<int>(i), size);
                 }});
    }
  }
  std::vector<int> InMemory() const {
    std::vector<int> numbers;
    for (int i = 0; i < cache.size(); ++i) {
      if (cache.IsInMemory(i)) numbers.push_back(i);
    }
    return numbers;
  }

  AdapterCache cache;
  std::vector<int> reads;
};

TEST(AdapterCache, HeaderExample) {
  const auto ReadPirate = [] { return Adapter(1, 64); };
  const auto run = [&]() -> absl::StatusOr<int64_t> {
    AdapterCache cache({.most_bytes = int64_t{64} << 20});
    const int pirate = cache.Add({.name = "pirate", .bytes = 64, .read = [=] { return ReadPirate(); }});
    ASSIGN_OR_RETURN(const AdapterLease adapter, cache.Lease(pirate));
    return adapter->bytes();
  };
  EXPECT_EQ(Must(run()), 64);
}

TEST(AdapterCache, TheLeastRecentlyUsedGoes) {
  Sized sized(300, {100, 100, 100, 100});
  for (const int number : {0, 1, 2, 0}) Must(sized.cache.Lease(number));
  Must(sized.cache.Lease(3));
  EXPECT_EQ(sized.InMemory(), (std::vector<int>{0, 2, 3})) << "1 was used before 0";
  Must(sized.cache.Lease(2));
  Must(sized.cache.Lease(1));
  EXPECT_EQ(sized.InMemory(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(sized.reads, (std::vector<int>{1, 2, 1, 1}));
  EXPECT_EQ(sized.cache.bytes(), 300);
  EXPECT_EQ(sized.cache.InMemory(), 3);
  EXPECT_EQ(sized.cache.stats().reads, 5);
  EXPECT_EQ(sized.cache.stats().read_bytes, 500);
  EXPECT_EQ(sized.cache.stats().evictions, 2);
  EXPECT_EQ(sized.cache.stats().leases, 7);
}

TEST(AdapterCache, AllThatMemoryHasAreCounted) {
  Sized sized(300, {100, 100, 100, 100});
  int expected = 0;
  for (const int number : {0, 3, 1}) {
    Must(sized.cache.Lease(number));
    EXPECT_EQ(sized.cache.InMemory(), ++expected) << number;
  }
}

// A large one takes the places of several.
TEST(AdapterCache, AsManyGoAsAreNeeded) {
  Sized sized(300, {100, 100, 100, 250});
  for (const int number : {0, 1, 2}) Must(sized.cache.Lease(number));
  Must(sized.cache.Lease(3));
  EXPECT_EQ(sized.InMemory(), std::vector<int>{3});
  EXPECT_EQ(sized.cache.stats().evictions, 3);
}

TEST(AdapterCache, AdaptersInUseStay) {
  Sized sized(200, {100, 100, 100});
  AdapterLease first = Must(sized.cache.Lease(0));
  const LoraAdapter* const where = first.get();
  Must(sized.cache.Lease(1));
  Must(sized.cache.Lease(2));
  EXPECT_EQ(sized.InMemory(), (std::vector<int>{0, 2})) << "0 was used before, but a lease has it";
  EXPECT_EQ(Must(sized.cache.Lease(0)).get(), where);
  const AdapterLease third = Must(sized.cache.Lease(2));
  const absl::Status full = sized.cache.Lease(1).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "adapter \"a1\": found 200 B for adapters, of which 200 B are in use, expected room for 100 B beside them");
  EXPECT_EQ(sized.reads[1], 1) << "nothing is read that has no room";
  first = nullptr;
  Must(sized.cache.Lease(1));
  EXPECT_EQ(sized.InMemory(), (std::vector<int>{1, 2}));
}

TEST(AdapterCache, AnErrorOfReadingIsItsOwnAndLeavesTheOthers) {
  AdapterCache cache({.most_bytes = 200});
  bool fails = true;
  cache.Add({.name = "good", .bytes = 100, .read = [] { return Adapter(0, 100); }});
  cache.Add({.name = "bad", .bytes = 100, .read = [&]() -> absl::StatusOr<LoraAdapter> {
               if (fails) return absl::NotFoundError("bad.gguf: cannot open");
               return Adapter(1, 100);
             }});
  Must(cache.Lease(0));
  EXPECT_EQ(cache.Lease(1).status(), absl::NotFoundError("bad.gguf: cannot open"));
  EXPECT_TRUE(cache.IsInMemory(0));
  EXPECT_EQ(cache.bytes(), 100);
  fails = false;
  EXPECT_EQ(Must(cache.Lease(1))->bytes(), 100);
}

// A text would go on with other numbers than it began with.
TEST(AdapterCache, AFileThatChangedIsRefused) {
  AdapterCache cache({.most_bytes = 100});
  int number = 1;
  int64_t bytes = 100;
  cache.Add({.name = "changing", .bytes = 100, .read = [&] { return Adapter(number, bytes); }});
  cache.Add({.name = "other", .bytes = 100, .read = [] { return Adapter(7, 100); }});
  const uint64_t id = Must(cache.Lease(0))->id();
  EXPECT_EQ(cache.stats().sum_seconds, 0) << "nothing went so far";
  EXPECT_NE(Must(cache.Lease(1))->id(), id);
  EXPECT_EQ(Must(cache.Lease(0))->id(), id) << "the same adapter";
  Must(cache.Lease(1));
  number = 2;
  absl::Status changed = cache.Lease(0).status();
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(changed.message(), "adapter \"changing\": SHA-256: found ")) << changed;
  AdapterCache larger({.most_bytes = 200});
  larger.Add({.name = "larger", .bytes = 100, .read = [] { return Adapter(1, 120); }});
  changed = larger.Lease(0).status();
  EXPECT_TRUE(absl::StrContains(changed.message(), "adapter \"larger\": bytes: found 120, expected 100")) << changed;
  EXPECT_EQ(larger.bytes(), 0);
}

TEST(AdapterCache, OneThatIsExchangedForAForgedOneIsRefused) {
  ModelConfig config;
  config.layers.resize(1);
  config.width = config.feed_forward = 64;
  config.heads = config.kv_heads = 4;
  config.head_size = 16;
  bool is_forged = false;
  const auto read = [&]() -> absl::StatusOr<LoraAdapter> {
    return is_forged ? ForgedAdapter(config, 4, 1, 2) : RandomAdapter(config, 4, kAllTargets, 1, 1, BlockFormat::kF16);
  };
  const int64_t bytes = Must(read()).bytes();
  AdapterCache cache({.most_bytes = bytes});
  for (const char* const name : {"exchanged", "other"}) cache.Add({.name = name, .bytes = bytes, .read = read});
  Must(cache.Lease(0));
  Must(cache.Lease(1));
  is_forged = true;
  const absl::Status changed = cache.Lease(0).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(changed) && absl::StrContains(changed.message(), "SHA-256: found ")) << changed;
}

TEST(AdapterCache, TheLeastBytesAreTheSumOfTheLargestAdapters) {
  const Sized sized(250, {50, 100, 20});
  EXPECT_EQ(sized.cache.LeastBytes(0), 0);
  EXPECT_EQ(sized.cache.LeastBytes(1), 100);
  EXPECT_EQ(sized.cache.LeastBytes(2), 150);
  EXPECT_EQ(sized.cache.LeastBytes(9), 170);
  EXPECT_EQ(sized.cache.MostBytes(), 170) << "there are no more";
  EXPECT_EQ(Sized(120, {50, 100, 20}).cache.MostBytes(), 120);
}

TEST(AdapterCache, HasRoomOnlyWithoutEvictions) {
  Sized sized(150, {50, 100, 20});
  EXPECT_TRUE(sized.cache.HasRoomFor(1));
  Must(sized.cache.Lease(1));
  EXPECT_TRUE(sized.cache.HasRoomFor(0));
  Must(sized.cache.Lease(0));
  EXPECT_TRUE(sized.cache.HasRoomFor(0)) << "it is there";
  EXPECT_FALSE(sized.cache.HasRoomFor(2));
}

// Against a list that does by hand what is promised: leases of random lengths, in a memory that most of the time is full.
TEST(AdapterCache, RandomUseNeverExceedsItsMemoryAndNeverLosesALease) {
  SeededRandom random(7);
  const std::vector<int64_t> sizes = {40, 60, 80, 100, 120, 30};
  Sized sized(260, sizes);
  std::vector<std::pair<int, AdapterLease>> held;
  for (int step = 0; step < 2000; ++step) {
    for (int64_t gone = random.Below(3); gone > 0 && !held.empty(); --gone) {
      held.erase(held.begin() + random.Below(static_cast<int64_t>(held.size())));
    }
    const int number = static_cast<int>(random.Below(static_cast<int64_t>(sizes.size())));
    int64_t in_use = 0;
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
      const auto has = [&](const auto& lease) { return lease.first == i; };
      if (i != number && std::any_of(held.begin(), held.end(), has)) in_use += sizes[static_cast<size_t>(i)];
    }
    absl::StatusOr<AdapterLease> lease = sized.cache.Lease(number);
    ASSERT_EQ(lease.ok(), in_use + sizes[static_cast<size_t>(number)] <= 260) << lease.status();
    if (lease.ok()) held.emplace_back(number, *std::move(lease));
    ASSERT_LE(sized.cache.bytes(), 260);
    for (const auto& [which, adapter] : held) {
      ASSERT_TRUE(sized.cache.IsInMemory(which));
      ASSERT_EQ(adapter->bytes(), sizes[static_cast<size_t>(which)]);
    }
  }
  EXPECT_GT(sized.cache.stats().evictions, 100);
}

TEST(AdapterCache, ReadsAreTimedByTheClock) {
  TickingClock clock(1000);
  Sized sized(200, {100, 100}, &clock);
  Must(sized.cache.Lease(0));
  const double once = sized.cache.stats().read_seconds;
  EXPECT_GT(once, 0);
  Must(sized.cache.Lease(0));
  EXPECT_EQ(sized.cache.stats().read_seconds, once) << "it was in memory";
}

}  // namespace
}  // namespace tessera
