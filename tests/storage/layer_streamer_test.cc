#include "tessera/storage/layer_streamer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <thread>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/faulty_device.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Units as a small model has them: of a few pages, of several blocks, and one that ends inside a block.
const std::vector<int64_t> kUnitBytes = {5000, 3 * kMiB + 100, 64, kMiB, 700000, 2 * kMiB, 4096, 900000};

template <typename T>
T Must(absl::StatusOr<T> result) {
  CHECK(result.ok()) << result.status();
  return *std::move(result);
}

class LayerStreamerTest : public testing::Test {
 protected:
  LayerStreamerTest() : path_(folder_.path() + "/sample.tsr") {
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
  }

  // Pins of so many bytes at most, and a ring that holds about half of the file.
  LayerStreamer::Options OptionsFor(int64_t pin_bytes, PinPolicy policy = PinPolicy::kSpread) const {
    LayerStreamer::Options options;
    options.pins = PlanPins(kUnitBytes, pin_bytes, policy);
    options.ring_bytes = 4 * kMiB;
    options.probe_in_child = true;
    return options;
  }
  std::unique_ptr<LayerStreamer> Open(LayerStreamer::Options options) const {
    return Must(LayerStreamer::Open(*file_, std::move(options)));
  }

  bool Holds(const WeightLease& lease, int unit) const {
    const std::vector<std::byte>& expected = sample_.units[unit];
    return lease.unit() == unit && lease.bytes().size() == expected.size() &&
           std::memcmp(expected.data(), lease.bytes().data(), expected.size()) == 0 &&
           reinterpret_cast<uintptr_t>(lease.bytes().data()) % 4096 == 0;
  }
  void ExpectPasses(LayerStreamer& source, int passes) const {
    for (int pass = 0; pass < passes; ++pass) {
      for (int unit = 0; unit < source.units(); ++unit) {
        const absl::StatusOr<WeightLease> lease = source.Acquire(unit);
        ASSERT_TRUE(lease.ok()) << lease.status();
        ASSERT_TRUE(Holds(*lease, unit)) << unit;
      }
    }
  }

  static inline const TsrSample sample_ = MakeTsrSample(kUnitBytes);
  const TemporaryFolder folder_;
  const std::string path_;
  std::unique_ptr<TsrReader> file_;
};

TEST_F(LayerStreamerTest, HeaderExample) {
  int64_t used = 0;
  const auto Use = [&](absl::Span<const std::byte> bytes) { used += static_cast<int64_t>(bytes.size()); };
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<TsrReader> file, TsrReader::Open(path_));
    ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(*file, /*budget=*/512 << 20));
    ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source,
                     LayerStreamer::Open(*file, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
    for (int unit = 0; unit < source->units(); ++unit) {
      ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(unit));
      Use(lease.bytes());
    }
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  int64_t all = 0;
  for (const int64_t bytes : kUnitBytes) all += bytes;
  EXPECT_EQ(used, all);
}

TEST_F(LayerStreamerTest, GivesTheSameBytesByEveryPlan) {
  for (const PinPolicy policy : {PinPolicy::kSpread, PinPolicy::kPrefix, PinPolicy::kNone}) {
    for (const int64_t pin_bytes : {int64_t{0}, 2 * kMiB, 100 * kMiB}) {
      for (const int64_t ring_bytes : {4 * kMiB, 6 * kMiB, 50 * kMiB}) {
        LayerStreamer::Options options = OptionsFor(pin_bytes, policy);
        options.ring_bytes = ring_bytes;
        options.verify = ring_bytes == 4 * kMiB       ? VerifyPolicy::kAlways
                         : policy == PinPolicy::kNone ? VerifyPolicy::kNever
                                                      : VerifyPolicy::kFirst;
        ExpectPasses(*Open(options), 2);
      }
    }
  }
}

TEST_F(LayerStreamerTest, GivesTheSameBytesByEveryBackEndAndDepth) {
  for (const IoKind io : {IoKind::kAuto, IoKind::kPread, IoKind::kBuffered}) {
    for (const int depth : {1, 3, 32}) {
      LayerStreamer::Options options = OptionsFor(kMiB);
      options.io = io;
      options.probe_in_child = depth != 3;
      options.depth = depth;
      const absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file_, options);
      if (io == IoKind::kPread && absl::IsFailedPrecondition(source.status())) {  // An emulator may know of no O_DIRECT.
        std::cerr << "not tested here: " << source.status() << "\n";
        continue;
      }
      ASSERT_TRUE(source.ok()) << source.status();
      ExpectPasses(**source, 3);
      EXPECT_FALSE((*source)->device_reason().empty());
    }
  }
}

TEST_F(LayerStreamerTest, PinsAreReadOnceAndTheRestInEveryPass) {
  const std::unique_ptr<LayerStreamer> source = Open(OptionsFor(3 * kMiB));
  ExpectPasses(*source, 4);
  const LayerStreamer::Stats stats = source->stats();
  EXPECT_GT(stats.pinned_bytes, 2 * kMiB);
  EXPECT_LE(stats.pinned_bytes, 3 * kMiB);
  EXPECT_EQ(stats.out_of_order, 0);
  // Reading may be ahead by what the ring holds.
  EXPECT_GE(stats.bytes_read, stats.pinned_bytes + 4 * stats.streamed_bytes);
  EXPECT_LE(stats.bytes_read, stats.pinned_bytes + 4 * stats.streamed_bytes + stats.ring_bytes);
  EXPECT_TRUE(Must(source->Acquire(0)).pinned() || !source->stats().pinned_bytes);
}

// As a block of a model leases its units: some at once, for a while.
TEST_F(LayerStreamerTest, LeasedBytesStayWhileOthersAreRead) {
  LayerStreamer::Options options = OptionsFor(0);
  options.ring_bytes = LayerStreamer::RingBytesFor(/*together=*/3 * kMiB + kMiB / 2, /*largest=*/3 * kMiB + kMiB / 2);
  const std::unique_ptr<LayerStreamer> source = Open(options);
  SeededRandom random(3);
  std::deque<WeightLease> held;
  for (int i = 0; i < 400; ++i) {
    const int unit = i % source->units();
    held.push_back(Must(source->Acquire(unit)));
    int64_t bytes = 0;
    for (const WeightLease& lease : held) bytes += static_cast<int64_t>(lease.bytes().size());
    while (bytes > kMiB || std::ssize(held) > 1 + random.Below(3)) {
      ASSERT_TRUE(Holds(held.front(), held.front().unit()));
      bytes -= static_cast<int64_t>(held.front().bytes().size());
      held.pop_front();
    }
  }
  EXPECT_EQ(source->stats().out_of_order, 0);
}

TEST_F(LayerStreamerTest, AnyOrderIsServed) {
  LayerStreamer::Options options = OptionsFor(kMiB);
  const std::unique_ptr<LayerStreamer> source = Open(options);
  SeededRandom random(5);
  for (int i = 0; i < 300; ++i) {
    const int unit = static_cast<int>(random.Below(source->units()));
    ASSERT_TRUE(Holds(Must(source->Acquire(unit)), unit)) << i;
    if (random.Below(4) == 0) {
      const WeightLease first = Must(source->Acquire(unit)), again = Must(source->Acquire(unit));
      ASSERT_TRUE(Holds(again, unit));
    }
  }
  EXPECT_GT(source->stats().out_of_order, 20);
}

// Also when what was on its way at the jump is met again later.
TEST_F(LayerStreamerTest, AfterAJumpReadingGoesOnInOrder) {
  const std::unique_ptr<LayerStreamer> source = Open(OptionsFor(0, PinPolicy::kNone));
  SeededRandom random(6);
  const int units = source->units();
  for (int jump = 1; jump <= 150; ++jump) {
    int unit = static_cast<int>(random.Below(units));
    for (int i = 0; i < units + 2; ++i, unit = (unit + 1) % units) ASSERT_TRUE(Holds(Must(source->Acquire(unit)), unit));
    ASSERT_LE(source->stats().out_of_order, jump);
  }
}

TEST_F(LayerStreamerTest, PartsEqualTheBytesOfTheirUnits) {
  for (const VerifyPolicy verify : {VerifyPolicy::kFirst, VerifyPolicy::kAlways, VerifyPolicy::kNever}) {
    LayerStreamer::Options options = OptionsFor(3 * kMiB);
    options.verify = verify;
    options.parts_only.assign(kUnitBytes.size(), false);
    options.parts_only[1] = true;
    options.pins = PlanPins({5000, 0, 64}, 3 * kMiB, PinPolicy::kSpread);
    options.pins.pinned.resize(kUnitBytes.size(), false);
    options.pins.pinned[1] = false;
    const std::unique_ptr<LayerStreamer> source = Open(options);
    SeededRandom random(8);
    for (int i = 0; i < 60; ++i) {
      std::vector<UnitPart> parts;
      for (int64_t count = 1 + random.Below(WeightSource::kMostParts), bytes = 0; static_cast<int64_t>(parts.size()) < count;) {
        const int unit = random.Below(3) == 0 ? static_cast<int>(random.Below(source->units())) : 1;
        const int64_t offset = random.Below(kUnitBytes[unit] / 64 + 1) * 64;
        const int64_t size = std::min<int64_t>(kUnitBytes[unit] - offset, 1 + random.Below(30000));
        if (size <= 0 || bytes + size > WeightSource::kMostPartBytes) continue;
        parts.push_back({unit, offset, size});
        bytes += size;
      }
      const std::vector<WeightLease> leases = Must(source->AcquireParts(parts));
      for (size_t p = 0; p < parts.size(); ++p) {
        const std::byte* expected = sample_.units[parts[p].unit].data() + parts[p].offset;
        ASSERT_EQ(leases[p].bytes().size(), static_cast<size_t>(parts[p].bytes));
        ASSERT_EQ(std::memcmp(leases[p].bytes().data(), expected, parts[p].bytes), 0) << i << " " << p;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(leases[p].bytes().data()) % 64, 0u);
      }
      for (int unit = 0; unit < source->units(); ++unit) {  // Parts and units go side by side.
        if (unit == 1) continue;
        ASSERT_TRUE(Holds(Must(source->Acquire(unit)), unit));
      }
    }
  }
}

// A block that cannot be read, for each read of a pass in turn: it fails one lease, by name, and nothing else.
TEST_F(LayerStreamerTest, AnErrorFailsTheLeaseOfItsUnitAlone) {
  for (int read = 0; read < 16; ++read) {
    SCOPED_TRACE(read);
    LayerStreamer::Options options = OptionsFor(0, PinPolicy::kNone);
    // Places in the file: some byte of each MiB in which units lie.
    const int64_t at = file_->UnitOffset(0) + read * (file_->file_bytes() - file_->UnitOffset(0)) / 16;
    int unit_there = 0;
    while (unit_there + 1 < file_->units() && file_->UnitOffset(unit_there + 1) <= at) ++unit_there;
    const bool inside = at < file_->UnitOffset(unit_there) + file_->StoredBytes(unit_there);
    options.wrap_device = WithFaults({.sticky_io_error = at});
    const std::unique_ptr<LayerStreamer> source = Open(options);
    for (int pass = 0; pass < 2; ++pass) {
      for (int unit = 0; unit < source->units(); ++unit) {
        const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
        if (inside && unit == unit_there) {
          ASSERT_EQ(lease.status().code(), absl::StatusCode::kUnavailable) << lease.status();
          EXPECT_NE(lease.status().message().find(path_), std::string::npos) << lease.status();
          EXPECT_NE(lease.status().message().find(absl::StrCat(": unit ", unit, ", unit", unit, ".")), std::string::npos) << lease.status();
        } else {
          ASSERT_TRUE(lease.ok()) << lease.status();
          ASSERT_TRUE(Holds(*lease, unit));
        }
      }
    }
  }
}

// Thousands of leases from a device that does all that devices do: each holds the right bytes, or says what is wrong.
TEST_F(LayerStreamerTest, FaultsNeverGiveWrongBytes) {
  int64_t served = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    LayerStreamer::Options options = OptionsFor(seed % 2 == 0 ? 0 : 2 * kMiB);
    options.verify = VerifyPolicy::kAlways;
    options.wrap_device = WithFaults({.seed = seed,
                                      .short_read = 0.1,
                                      .interruption = 0.1,
                                      .io_error = 0.05,
                                      .invalid = 0.02,
                                      .bit_flip = 0.05,
                                      .zeroed_sector = 0.05,
                                      .misdirection = 0.05,
                                      .reordering = 0.3});
    const absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file_, options);
    if (!source.ok()) continue;
    for (int i = 0; i < 400; ++i) {
      const int unit = i % (*source)->units();
      const absl::StatusOr<WeightLease> lease = (*source)->Acquire(unit);
      if (lease.ok()) {
        ASSERT_TRUE(Holds(*lease, unit));
        ++served;
      } else {
        EXPECT_TRUE(lease.status().code() == absl::StatusCode::kUnavailable || lease.status().code() == absl::StatusCode::kDataLoss);
      }
    }
    EXPECT_GT((*source)->stats().retries, 50);
  }
  EXPECT_GT(served, 1000);
}

TEST_F(LayerStreamerTest, AFileThatIsWrittenToIsNoticed) {
  const std::unique_ptr<LayerStreamer> source = Open(OptionsFor(0, PinPolicy::kNone));
  ExpectPasses(*source, 2);
  WaitForLaterFileTime(path_);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(file_->UnitOffset(0)).write("other", 5);
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = source->Acquire(i % source->units()).status();
  EXPECT_TRUE(status.code() == absl::StatusCode::kFailedPrecondition || status.code() == absl::StatusCode::kDataLoss) << status;
  EXPECT_NE(status.message().find(path_), std::string::npos) << status;
}

// Not even with no checksums: bytes are given out only if the file was unchanged when they had come.
TEST_F(LayerStreamerTest, NothingIsGivenOutThatWasWrittenAfterTheFileWasOpened) {
  LayerStreamer::Options options = OptionsFor(0, PinPolicy::kNone);
  options.verify = VerifyPolicy::kNever;
  for (int written = 0; written < static_cast<int>(kUnitBytes.size()); ++written) {
    SCOPED_TRACE(written);
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
    const std::unique_ptr<LayerStreamer> source = Open(options);
    for (int i = 0; i <= written; ++i) ASSERT_TRUE(Holds(Must(source->Acquire(i)), i));
    WaitForLaterFileTime(path_);
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (int unit = 0; unit < source->units(); ++unit) file.seekp(file_->UnitOffset(unit)).write("other", 5);
    file.close();
    absl::Status status;
    for (int i = written + 1; i < 100 && status.ok(); ++i) {
      const int unit = i % source->units();
      const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
      status = lease.status();
      if (!lease.ok()) continue;
      ASSERT_TRUE(Holds(*lease, unit)) << unit;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(source->AcquireParts({{1, 0, 64}}).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

// A device that says nothing for as long as it is told to.
class SilentDevice : public FaultyDevice {
 public:
  SilentDevice(std::unique_ptr<BlockDevice> below, const std::atomic<bool>& silent)
      : FaultyDevice(*below, {}), below_(std::move(below)), silent_(silent) {}
  absl::Status Wait(std::vector<Completion>& done) override {
    EXPECT_TRUE(Await([&] { return !silent_; }));
    return FaultyDevice::Wait(done);
  }

 private:
  const std::unique_ptr<BlockDevice> below_;
  const std::atomic<bool>& silent_;
};

TEST_F(LayerStreamerTest, ACancelledWaitForPartsEndsAndTheNextIsServed) {
  std::atomic<bool> cancel = false, silent = false;
  LayerStreamer::Options options = OptionsFor(0, PinPolicy::kNone);
  options.cancel = &cancel;
  options.parts_only = {false, true, false, false, false, false, false, false};
  options.wrap_device = [&](std::unique_ptr<BlockDevice> device) { return std::make_unique<SilentDevice>(std::move(device), silent); };
  const std::unique_ptr<LayerStreamer> source = Open(options);
  silent = cancel = true;
  EXPECT_EQ(source->AcquireParts({{1, 64, 5000}}).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(source->AcquireParts({{1, 4096, 100}}).status().code(), absl::StatusCode::kCancelled);
  silent = cancel = false;
  const std::vector<WeightLease> leases = Must(source->AcquireParts({{1, 128, 9000}}));
  EXPECT_TRUE(std::equal(leases[0].bytes().begin(), leases[0].bytes().end(), sample_.units[1].begin() + 128));
}

TEST_F(LayerStreamerTest, ARingTooSmallForTheLeasesIsReported) {
  LayerStreamer::Options options = OptionsFor(0, PinPolicy::kNone);
  const std::unique_ptr<LayerStreamer> source = Open(options);
  const WeightLease large = Must(source->Acquire(1)), small = Must(source->Acquire(2));
  EXPECT_EQ(source->Acquire(3).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(LayerStreamerTest, ACancelledWaitEnds) {
  std::atomic<bool> cancel = false;
  LayerStreamer::Options options = OptionsFor(0, PinPolicy::kNone);
  options.cancel = &cancel;
  const std::unique_ptr<LayerStreamer> source = Open(options);
  const WeightLease large = Must(source->Acquire(1)), small = Must(source->Acquire(2));
  cancel = true;
  EXPECT_EQ(source->Acquire(3).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(LayerStreamerTest, OptionsThatDoNotFitTheFileAreRefused) {
  LayerStreamer::Options small = OptionsFor(0), short_plan = OptionsFor(0);
  small.ring_bytes = kMiB;
  short_plan.pins.pinned.pop_back();
  const std::string ring(LayerStreamer::Open(*file_, small).status().message());
  EXPECT_NE(ring.find("ring: found 1048576 bytes, expected at least 3149824"), std::string::npos) << ring;
  const std::string plan(LayerStreamer::Open(*file_, short_plan).status().message());
  EXPECT_NE(plan.find("pin plan: found 7 units, expected 8"), std::string::npos) << plan;
}

}  // namespace
}  // namespace tessera
