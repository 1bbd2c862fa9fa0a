#include "tessera/storage/clocked_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20, kMillisecond = 1'000'000;

// A flash that reads a MiB a millisecond, however it is asked.
FlashProfile MiBAMillisecond(int64_t latency_nanos = 0) {
  return {.name = "test", .speeds = {{.block_bytes = kMiB, .depth = 1, .bytes_per_second = static_cast<double>(kMiB) * 1e3}},
          .latency_nanos = latency_nanos};
}

// Has all bytes at once; some units are pinned.
class AtOnce : public WeightSource {
 public:
  explicit AtOnce(std::vector<bool> pinned) : pinned_(std::move(pinned)), bytes_(4096) {}
  int units() const override { return static_cast<int>(pinned_.size()); }
  absl::StatusOr<WeightLease> Acquire(int unit) override {
    ++leases;
    return WeightLease(this, unit, bytes_, pinned_[static_cast<size_t>(unit)]);
  }
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override {
    std::vector<WeightLease> all;
    for (const UnitPart& part : parts) all.push_back(Must(Acquire(part.unit)));
    return all;
  }
  int leases = 0;

 private:
  void Release(int, absl::Span<const std::byte>) override { --leases; }
  const std::vector<bool> pinned_;
  const std::vector<std::byte> bytes_;
};

// Units of 2 MiB, in a ring of so many.
class Clocked {
 public:
  explicit Clocked(int units, int ring_units, std::vector<bool> pinned = {}, int64_t latency_nanos = 0) {
    if (pinned.empty()) pinned.assign(static_cast<size_t>(units), false);
    ClockedSource::Options options = {.flash = MiBAMillisecond(latency_nanos), .ring_bytes = ring_units * 2 * kMiB, .timeline = &timeline};
    options.unit_bytes.assign(static_cast<size_t>(units), 2 * kMiB);
    for (const bool is : pinned) options.streamed.push_back(!is);
    auto below = std::make_unique<AtOnce>(pinned);
    inner = below.get();
    source = std::make_unique<ClockedSource>(std::move(below), clock, std::move(options));
  }

  // Leases the unit, computes with it for so long, and returns what is waited for before, in milliseconds.
  int64_t Use(int unit, int64_t compute_millis) {
    const int64_t begin = clock.NowNanos();
    const WeightLease lease = Must(source->Acquire(unit));
    const int64_t waited = clock.NowNanos() - begin;
    clock.Advance(compute_millis * kMillisecond);
    return waited / kMillisecond;
  }

  VirtualClock clock;
  Timeline timeline{{.clock = &clock}};
  AtOnce* inner = nullptr;
  std::unique_ptr<ClockedSource> source;
};

TEST(ClockedSource, HeaderExample) {
  const TemporaryFolder folder;
  ASSERT_EQ(WriteTsrSample(folder.Path("sample.tsr"), MakeTsrSample({3 * kMiB, 700000, 2 * kMiB})), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = Must(TsrReader::Open(folder.Path("sample.tsr")));
  const StreamPlan plan = Must(PlanStreaming(*file, /*budget=*/64 * kMiB, PinPolicy::kNone));
  std::unique_ptr<LayerStreamer> streamer =
      Must(LayerStreamer::Open(*file, {.pins = plan.pins, .parts_only = plan.parts_only, .ring_bytes = plan.ring_bytes}));
  const FlashProfile flash = Must(LoadFlashProfile("ufs4.0"));
  VirtualClock clock;
  ClockedSource source(std::move(streamer), clock, ClockedSource::OptionsFor(*file, plan, flash));
  for (int unit = 0; unit < source.units(); ++unit) {
    const WeightLease lease = Must(source.Acquire(unit));
    EXPECT_EQ(static_cast<int64_t>(lease.bytes().size()), file->UnitBytes(unit));
  }
  const double expected = static_cast<double>(source.stats().read_bytes) / 4.0e9;   // Blocks of 512 KiB and more.
  EXPECT_NEAR(source.stats().read_seconds, expected, 0.2 * expected);
  EXPECT_GT(source.stats().waited_seconds, 0);
}

TEST(ClockedSource, ComputingHidesReadingWhereComputingTakesLonger) {
  Clocked slow(6, 3), fast(6, 3);
  for (int pass = 0; pass < 3; ++pass) {
    for (int unit = 0; unit < 6; ++unit) {
      const int64_t waited = slow.Use(unit, /*compute_millis=*/5);
      EXPECT_EQ(waited, pass == 0 && unit == 0 ? 2 : 0) << pass << " " << unit;
      fast.Use(unit, /*compute_millis=*/1);
    }
  }
  // All that is read takes its time, but for the last unit's computing.
  EXPECT_EQ(fast.clock.NowNanos(), (18 * 2 + 1) * kMillisecond);
  EXPECT_EQ(fast.source->stats().read_bytes, 18 * 2 * kMiB);
  EXPECT_DOUBLE_EQ(fast.source->stats().read_seconds, 0.036);
  EXPECT_NEAR(fast.source->stats().waited_seconds, 0.037 - 0.018, 1e-9);
}

// With room for one unit beside the one in use, reading may be one unit ahead, no more.
TEST(ClockedSource, ReadsAheadAsFarAsTheRingHasRoom) {
  Clocked two(4, 2), one(4, 1);
  EXPECT_EQ(two.Use(0, 10), 2);
  EXPECT_EQ(two.Use(1, 0), 0) << "read while 0 was computed with";
  EXPECT_EQ(two.Use(2, 10), 2) << "its place was free when 0 was given back";
  EXPECT_EQ(one.Use(0, 10), 2);
  EXPECT_EQ(one.Use(1, 10), 2) << "nothing is read while the only place is leased";
}

TEST(ClockedSource, ARingWithRoomForAllIsReadOnce) {
  Clocked all(4, 4);
  for (int pass = 0; pass < 3; ++pass) {
    for (int unit = 0; unit < 4; ++unit) EXPECT_EQ(all.Use(unit, 0), pass == 0 ? 2 : 0);
  }
  EXPECT_EQ(all.source->stats().read_bytes, 4 * 2 * kMiB);
}

TEST(ClockedSource, PinnedUnitsTakeNoTimeAndNoRoom) {
  Clocked some(4, 2, {true, false, true, false});
  EXPECT_EQ(some.Use(0, 10), 0);
  EXPECT_EQ(some.Use(1, 10), 0) << "read while 0 was computed with";
  EXPECT_EQ(some.Use(2, 10), 0);
  EXPECT_EQ(some.Use(3, 10), 0);
  EXPECT_EQ(some.source->stats().read_bytes, 2 * 2 * kMiB);
}

// A head that is read a second time in a pass was not expected, nor was what follows it.
TEST(ClockedSource, AUnitOutOfOrderIsReadOnDemand) {
  Clocked some(4, 2);
  for (int unit = 0; unit < 4; ++unit) some.Use(unit, 10);
  EXPECT_EQ(some.Use(2, 10), 2);
  EXPECT_EQ(some.Use(3, 10), 0);
  EXPECT_EQ(some.Use(0, 10), 0) << "the next pass is expected";
}

// Neighbouring blocks may share a unit.
TEST(ClockedSource, TheLastUnitMayBeLeasedAgain) {
  Clocked some(4, 2);
  some.Use(0, 0);
  EXPECT_EQ(some.Use(0, 0), 0);
  EXPECT_EQ(some.source->stats().read_bytes, 2 * kMiB);
}

TEST(ClockedSource, PartsAreReadInBetween) {
  Clocked some(2, 1, {}, /*latency_nanos=*/kMillisecond / 2);
  const int64_t begin = some.clock.NowNanos();
  const UnitPart part = {.unit = 1, .offset = 0, .bytes = kMiB / 4};
  { const std::vector<WeightLease> leases = Must(some.source->AcquireParts({&part, 1})); }
  EXPECT_EQ(some.clock.NowNanos() - begin, kMillisecond / 2) << "the latency is longer";
  EXPECT_EQ(some.source->stats().read_bytes, kMiB / 4);
  some.Use(0, 0);
  EXPECT_EQ(some.clock.NowNanos() - begin, 2 * kMillisecond + kMillisecond / 4) << "put off by the part";
}

TEST(ClockedSource, ReadsFollowOneAnotherOnTheTimeline) {
  Clocked some(6, 3);
  for (int pass = 0; pass < 3; ++pass) {
    for (int unit = 0; unit < 6; ++unit) some.Use(unit, unit % 3 * 2);
  }
  int64_t end = 0;
  for (const TimelineEvent& event : some.timeline.Events()) {
    EXPECT_EQ(event.zone, Zone::kRead);
    EXPECT_EQ(event.resource, Resource::kFlash);
    EXPECT_GE(event.begin_ns, end) << "the flash has two jobs";
    EXPECT_EQ(event.end_ns - event.begin_ns, 2 * kMillisecond);
    end = event.end_ns;
  }
  EXPECT_EQ(some.timeline.Events().size(), 18u);
}

TEST(ClockedSource, LeasesEndWithTheLeasesOfTheOtherSource) {
  Clocked some(2, 2);
  {
    const WeightLease first = Must(some.source->Acquire(0)), again = Must(some.source->Acquire(0));
    EXPECT_EQ(some.inner->leases, 2);
    EXPECT_FALSE(first.pinned());
  }
  EXPECT_EQ(some.inner->leases, 0);
}

// An error, long before the clock could turn over.
TEST(ClockedSource, VirtualTimeEnds) {
  Clocked some(1, 1);
  some.clock.Advance(3'199'999'999'000'000'000);
  EXPECT_EQ(some.Use(0, 2000), 0) << "read long ago";
  const absl::Status status = some.source->Acquire(0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "unit 0: found reading after 3200000000 s of virtual time, expected it before");
  EXPECT_EQ(some.inner->leases, 0);
}

}  // namespace
}  // namespace tessera
