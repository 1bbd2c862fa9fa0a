// Reading goes on while nobody waits for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>

#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/device_over_device.h"
#include "tessera/tests/fakes/faulty_device.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
const std::vector<int64_t> kUnitBytes = {3 * kMiB, 700000, 2 * kMiB, 900000};

// Calls `on_read` with each read that begins.
class WatchedDevice : public FaultyDevice {
 public:
  WatchedDevice(std::unique_ptr<BlockDevice> below, std::function<void(const Read& read)> on_read)
      : FaultyDevice(*below, {}), below_(std::move(below)), on_read_(std::move(on_read)) {}
  absl::Status Submit(const Read& read) override {
    on_read_(read);
    return FaultyDevice::Submit(read);
  }

 private:
  const std::unique_ptr<BlockDevice> below_;
  const std::function<void(const Read& read)> on_read_;
};

// The ring has no room for the first unit beside the last: its next read begins after the last lease of a pass, and nobody asks for it.
TEST(ReadingAhead, BetweenPassesTheFirstUnitsOfTheNextAreRead) {
  const TemporaryFolder folder;
  ASSERT_EQ(WriteTsrSample(folder.Path("sample.tsr"), MakeTsrSample(kUnitBytes)), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = *TsrReader::Open(folder.Path("sample.tsr"));
  std::atomic<int> reads_of_first = 0;
  std::promise<void> read_again;
  LayerStreamer::Options options = {.pins = PlanPins(kUnitBytes, 0, PinPolicy::kNone), .ring_bytes = 3 * kMiB + kMiB / 2};
  options.wrap_device = [&](std::unique_ptr<BlockDevice> device) {
    return std::make_unique<WatchedDevice>(std::move(device), [&](const BlockDevice::Read& read) {
      if (read.offset == file->UnitOffset(0) && ++reads_of_first == 2) read_again.set_value();
    });
  };
  const std::unique_ptr<LayerStreamer> source = *LayerStreamer::Open(*file, options);
  for (int unit = 0; unit + 1 < source->units(); ++unit) ASSERT_TRUE(source->Acquire(unit).ok()) << unit;
  {
    const absl::StatusOr<WeightLease> last = source->Acquire(source->units() - 1);
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ(reads_of_first, 1);
  }
  EXPECT_EQ(read_again.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

// Counts the reads in flight.
class CountingDevice : public DeviceOverDevice {
 public:
  CountingDevice(std::unique_ptr<BlockDevice> below, std::atomic<int>& in_flight)
      : DeviceOverDevice(std::move(below)), in_flight_(in_flight) {}
  absl::Status Submit(const Read& read) override {
    ++in_flight_;
    return below_->Submit(read);
  }
  absl::Status Wait(std::vector<Completion>& done) override {
    const size_t before = done.size();
    const absl::Status status = below_->Wait(done);
    in_flight_ -= static_cast<int>(done.size() - before);
    return status;
  }

 private:
  std::atomic<int>& in_flight_;
};

// As the head of a model leases again what its norm has leased.
TEST(ReadingAhead, AUnitStaysUntilALaterUnitIsRequested) {
  const std::vector<int64_t> unit_bytes = {5000, 3 * kMiB + 100, 64, kMiB, 700000, 2 * kMiB, 4096, 900000};
  const TsrSample sample = MakeTsrSample(unit_bytes);
  const TemporaryFolder folder;
  ASSERT_EQ(WriteTsrSample(folder.Path("sample.tsr"), sample), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = *TsrReader::Open(folder.Path("sample.tsr"));
  LayerStreamer::Options options = {.pins = PlanPins(unit_bytes, 0, PinPolicy::kNone), .ring_bytes = 5 * kMiB};
  std::atomic<int> in_flight = 0;
  options.wrap_device = [&](std::unique_ptr<BlockDevice> device) { return std::make_unique<CountingDevice>(std::move(device), in_flight); };
  const std::unique_ptr<LayerStreamer> source = *LayerStreamer::Open(*file, options);
  const auto holds = [&](int unit) {
    const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
    return lease.ok() && std::equal(lease->bytes().begin(), lease->bytes().end(), sample.units[unit].begin(), sample.units[unit].end());
  };
  for (int pass = 0; pass < 3; ++pass) {
    for (int unit = 0; unit + 1 < source->units(); ++unit) {
      for (int time = 0; time < 3; ++time) {
        ASSERT_TRUE(holds(unit)) << unit;
        ASSERT_TRUE(Await([&] { return in_flight == 0 && OthersAreAsleep(); }));   // Reading has come as far ahead as it may.
      }
    }
    ASSERT_TRUE(holds(source->units() - 1));
  }
  EXPECT_EQ(source->stats().out_of_order, 0);
}

// What a pass found read already, and what it left to the next, can be told from counters alone.
TEST(ReadingAhead, IsTheDifferenceOfReadAndUsedBytes) {
  const TemporaryFolder folder;
  ASSERT_EQ(WriteTsrSample(folder.Path("sample.tsr"), MakeTsrSample(kUnitBytes)), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = *TsrReader::Open(folder.Path("sample.tsr"));
  const int64_t all = file->StoredBytes(0) + file->StoredBytes(1) + file->StoredBytes(2) + file->StoredBytes(3);
  const std::unique_ptr<LayerStreamer> source = *LayerStreamer::Open(
      *file, {.pins = PlanPins(kUnitBytes, 1 * kMiB, PinPolicy::kPrefix), .ring_bytes = 16 * kMiB});
  const int64_t pinned = source->stats().pinned_bytes;
  ASSERT_EQ(source->AwaitChecked(), absl::OkStatus());
  EXPECT_EQ(source->stats().bytes_used, pinned);
  for (int unit = 0; unit < source->units(); ++unit) ASSERT_TRUE(source->Acquire(unit).ok()) << unit;
  EXPECT_EQ(source->stats().bytes_used, all);
  ASSERT_TRUE(source->AcquireParts({{{.unit = 0, .offset = 5000, .bytes = 100}}}).ok());
  const LayerStreamer::Stats stats = source->stats();
  EXPECT_GT(stats.bytes_used, all);                                                      // A part's page.
  EXPECT_LE(stats.bytes_read - stats.bytes_used, all - pinned);
}

}  // namespace
}  // namespace tessera
