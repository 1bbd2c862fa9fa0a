// Pins are read while the first pass goes: each when it is needed, once, and what goes wrong with one is said by the lease that needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/held_device.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kUnits = 8, kLast = kUnits - 1;
// Each is read as a whole.
const std::vector<int64_t> kUnitBytes = {5000, 3 * kMiB + 100, 64, kMiB, 700'000, 2 * kMiB, 4096, 900'000};

// Cancels the waits of a test after a minute, so that one that waits for what never comes fails and does not hang.
class TimeLimit {
 public:
  TimeLimit() : watch_([this] { Watch(); }) {}
  ~TimeLimit() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    watch_.join();
  }
  const std::atomic<bool>& is_over() const { return is_over_; }   // Also for LayerStreamer::Options::cancel.

 private:
  void Watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [this] { return ended_; })) is_over_ = true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread watch_;   // The last to begin.
};

class FirstPass : public testing::Test {
 protected:
  FirstPass() {
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
  }

  // The ring has room for all that is not pinned, so that all is read once.
  LayerStreamer::Options Pinning(const std::vector<int>& pins) const {
    LayerStreamer::Options options;
    options.pins.pinned.resize(kUnits);
    for (const int unit : pins) {
      options.pins.pinned[unit] = true;
      options.pins.bytes += file_->StoredBytes(unit);
    }
    options.ring_bytes = AllBytes();
    options.probe_in_child = true;
    return options;
  }
  std::unique_ptr<LayerStreamer> Open(LayerStreamer::Options options) const {
    return Must(LayerStreamer::Open(*file_, std::move(options)));
  }

  int64_t AllBytes() const {
    int64_t bytes = 0;
    for (int unit = 0; unit < kUnits; ++unit) bytes += file_->StoredBytes(unit);
    return bytes;
  }
  static bool Holds(const WeightLease& lease, int unit, int64_t offset = 0) {
    return std::memcmp(sample_.units[unit].data() + offset, lease.bytes().data(), lease.bytes().size()) == 0;
  }
  static void ExpectLeases(LayerStreamer& source, int end = kUnits) {
    for (int unit = 0; unit < end; ++unit) {
      const absl::StatusOr<WeightLease> lease = source.Acquire(unit);
      ASSERT_TRUE(lease.ok()) << lease.status();
      ASSERT_EQ(lease->bytes().size(), static_cast<size_t>(kUnitBytes[unit]));
      ASSERT_TRUE(Holds(*lease, unit)) << unit;
    }
  }
  void AwaitReadOf(int unit, const HeldRead& held) const {
    const auto was_asked = [&] {
      const std::vector<int64_t> asked = held.asked();
      return std::count(asked.begin(), asked.end(), file_->UnitOffset(unit)) > 0;
    };
    ASSERT_TRUE(Await(was_asked)) << "found no read of unit " << unit << ", expected one";
  }

  static inline const TsrSample sample_ = MakeTsrSample(kUnitBytes);
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("sample.tsr");
  std::unique_ptr<TsrReader> file_;
  HeldRead held_;
};

TEST_F(FirstPass, ReadsPinsInTheirTurnAndEachUnitOnce) {
  for (const std::vector<int>& pins : std::vector<std::vector<int>>{{}, {1, 3, 6}, {0, 2, 4, 5}, {5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
    HeldRead reads;
    const TimeLimit limit;
    LayerStreamer::Options options = Pinning(pins);
    options.wrap_device = reads.Wrap();
    options.cancel = &limit.is_over();
    const std::unique_ptr<LayerStreamer> source = Open(options);
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_NO_FATAL_FAILURE(ExpectLeases(*source)) << pins.size() << " pins, pass " << pass
                                                     << (limit.is_over() ? ": found no lease within a minute, expected one" : "");
    }
    EXPECT_EQ(source->stats().bytes_read, AllBytes());
    EXPECT_EQ(source->stats().out_of_order, 0);
    std::vector<int64_t> in_order;
    for (int unit = 0; unit < kUnits; ++unit) in_order.push_back(file_->UnitOffset(unit));
    EXPECT_EQ(reads.asked(), in_order);
  }
}

// Its beginning is computed with while its end is still to come.
TEST_F(FirstPass, WaitsOnlyForTheRequestedPin) {
  for (const int held : {3, kLast}) {
    held_.Hold(file_->UnitOffset(held));
    LayerStreamer::Options options = Pinning({1, 3, kLast});
    options.wrap_device = held_.Wrap();
    const std::unique_ptr<LayerStreamer> source = Open(options);
    ExpectLeases(*source, held);
    EXPECT_LT(source->stats().bytes_used, AllBytes());
    std::atomic<pid_t> thread = 0;
    std::atomic<bool> has_lease = false;
    std::future<bool> leased = std::async(std::launch::async, [&] {
      thread = gettid();
      const WeightLease lease = Must(source->Acquire(held));
      has_lease = true;
      return Holds(lease, held);
    });
    EXPECT_TRUE(Await([&] { return has_lease || IsAsleep(thread); }));
    EXPECT_FALSE(has_lease);
    held_.LetGo();
    EXPECT_TRUE(leased.get());
    EXPECT_GT(source->LoadingSeconds(), 0);
    EXPECT_GE(static_cast<double>(source->stats().stall_nanos) * 1e-9, source->LoadingSeconds());
    ExpectLeases(*source);
  }
}

TEST_F(FirstPass, FindsPinsReadThatComeAfterAFullRing) {
  const TimeLimit limit;
  LayerStreamer::Options options = Pinning({2, 4, 6, kLast});
  options.ring_bytes = file_->StoredBytes(1);   // For the units 0 and 3, or for 1, or for 5.
  options.cancel = &limit.is_over();
  const std::unique_ptr<LayerStreamer> source = Open(options);
  const int64_t there = file_->StoredBytes(0) + options.pins.bytes;
  ASSERT_TRUE(Await([&] { return source->stats().bytes_read >= there; }))   // With no lease at all.
      << "found " << source->stats().bytes_read << " bytes read, expected " << there;
  EXPECT_EQ(source->AwaitChecked(), absl::OkStatus());
  EXPECT_EQ(source->stats().bytes_read, there);
  ExpectLeases(*source);
  ExpectLeases(*source);
  EXPECT_EQ(source->stats().out_of_order, 0);
}

TEST_F(FirstPass, AnUnreadablePinFailsItsLeaseUntilReadable) {
  for (int broken = 0; broken < kUnits; ++broken) {
    SCOPED_TRACE(broken);
    Breaker breaker;
    breaker.BreakReadFromNow(broken);
    LayerStreamer::Options options = Pinning({0, 1, 2, 3, 4, 5, 6, 7});
    options.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<BreakableDevice>(std::move(device), breaker);
    };
    const std::unique_ptr<LayerStreamer> source = Open(options);
    for (int pass = 0; pass < 2; ++pass) {
      for (int unit = 0; unit < kUnits; ++unit) {
        const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
        ASSERT_EQ(lease.ok(), unit != broken) << lease.status();
        if (lease.ok()) continue;
        EXPECT_TRUE(absl::IsUnavailable(lease.status())) << lease.status();
        const std::string where = absl::StrCat(path_, ": unit ", unit, ", unit", unit, ".");
        EXPECT_TRUE(absl::StrContains(lease.status().message(), where)) << lease.status();
      }
    }
    EXPECT_TRUE(absl::IsUnavailable(source->AwaitChecked()));
    breaker.Repair();
    EXPECT_EQ(source->AwaitChecked(), absl::OkStatus());
    ExpectLeases(*source);
  }
}

TEST_F(FirstPass, ADamagedPinIsNotGivenOut) {
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(file_->UnitOffset(5) + kMiB + 300) << "other";
  file.close();
  file_ = Must(TsrReader::Open(path_));
  const std::unique_ptr<LayerStreamer> source = Open(Pinning({1, 5}));
  for (int time = 0; time < 2; ++time) {
    ExpectLeases(*source, 5);
    const absl::Status status = source->Acquire(5).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "CRC-32C of block ")) << status;
    EXPECT_TRUE(Holds(Must(source->Acquire(6)), 6));
  }
}

TEST_F(FirstPass, ACancelledPassLeavesTheRestToTheNextAndNothingIsReadTwice) {
  std::atomic<bool> cancel = false;
  held_.Hold(file_->UnitOffset(3));
  LayerStreamer::Options options = Pinning({1, 3, 5, kLast});
  options.cancel = &cancel;
  options.wrap_device = held_.Wrap();
  const std::unique_ptr<LayerStreamer> source = Open(options);
  ExpectLeases(*source, 3);
  cancel = true;
  EXPECT_TRUE(absl::IsCancelled(source->Acquire(3).status()));
  EXPECT_TRUE(absl::IsCancelled(source->AwaitChecked()));
  cancel = false;
  held_.LetGo();
  ExpectLeases(*source);
  ExpectLeases(*source);
  EXPECT_EQ(source->stats().bytes_read, AllBytes());
  EXPECT_EQ(source->stats().bytes_used, AllBytes());
}

// As where memory becomes short before the first prompt was read. The device writes to a pin's place while it is given up.
TEST_F(FirstPass, PinsCanBeGivenUpBeforeTheirRead) {
  for (const int unpinned : {1, 5, kLast}) {
    SCOPED_TRACE(unpinned);
    HeldRead held;
    held.Hold(file_->UnitOffset(unpinned));
    LayerStreamer::Options options = Pinning({1, 3, 5, kLast});
    options.wrap_device = held.Wrap();
    const std::unique_ptr<LayerStreamer> source = Open(options);
    AwaitReadOf(unpinned, held);
    std::future<absl::Status> awaited = std::async(std::launch::async, [&] { return source->AwaitChecked(); });
    ASSERT_EQ(source->Unpin({unpinned}), absl::OkStatus());
    EXPECT_EQ(awaited.get(), absl::OkStatus()) << "it waits for what is pinned";
    held.LetGo();
    ExpectLeases(*source);
    EXPECT_FALSE(Must(source->Acquire(unpinned)).pinned());
    EXPECT_EQ(source->stats().pinned_bytes, options.pins.bytes - file_->StoredBytes(unpinned));
    EXPECT_EQ(source->stats().kept_bytes, 0);
    ExpectLeases(*source);
  }
}

// A token needs a few rows of a table, and waits for no more.
TEST_F(FirstPass, PartsOfAPinComeBeforeTheWholePin) {
  held_.Hold(file_->UnitOffset(5));
  const std::vector<UnitPart> asked = {{1, 2 * kMiB + 64, 5000}, {5, kMiB + 64, 128}};
  const auto hold = [&](const std::vector<WeightLease>& parts) {
    return Holds(parts[0], 1, asked[0].offset) && Holds(parts[1], 5, asked[1].offset);
  };
  LayerStreamer::Options options = Pinning({1, 5});
  options.parts_only = {false, true, false, false, false, false, false, false};
  options.wrap_device = held_.Wrap();
  const std::unique_ptr<LayerStreamer> source = Open(options);
  {
    const std::vector<WeightLease> parts = Must(source->AcquireParts(asked));
    EXPECT_TRUE(hold(parts));
    EXPECT_FALSE(parts[1].pinned()) << "it is still being read";
  }
  held_.LetGo();
  ASSERT_EQ(source->AwaitResident(), absl::OkStatus());
  const std::vector<WeightLease> parts = Must(source->AcquireParts(asked));
  EXPECT_TRUE(hold(parts));
  EXPECT_TRUE(parts[0].pinned() && parts[1].pinned());
}

}  // namespace
}  // namespace tessera
