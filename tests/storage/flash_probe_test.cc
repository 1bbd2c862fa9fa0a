#include "tessera/storage/flash_probe.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/device_over_device.h"
#include "tessera/tests/fakes/priority_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

constexpr int64_t kFile = 8 << 20;
const FlashProbeOptions kQuick = {.bytes_per_shape = 0};  // The least there is: the deepest shape once.

// Serves one read after the other, which takes so long for each MiB on the clock, and cancels once so many were submitted.
class SlowDevice : public DeviceOverDevice {
 public:
  struct Seen {
    std::atomic<bool> cancel = false;
    int cancel_after = -1;
    int submitted = 0, in_flight = 0;
    int64_t most_bytes = 0;  // In flight.
    bool gone = false;
    TickingClock clock{1000};
  };
  SlowDevice(std::unique_ptr<BlockDevice> below, int64_t nanos_a_mib, Seen& seen)
      : DeviceOverDevice(std::move(below)), nanos_a_mib_(nanos_a_mib), seen_(seen) {}
  ~SlowDevice() override { seen_.gone = true; }

  absl::Status Submit(const Read& read) override {
    reads_.push_back(read);
    seen_.in_flight = static_cast<int>(reads_.size());
    int64_t bytes = 0;
    for (const Read& each : reads_) bytes += static_cast<int64_t>(each.out.size());
    seen_.most_bytes = std::max(seen_.most_bytes, bytes);
    if (++seen_.submitted == seen_.cancel_after) seen_.cancel = true;
    return absl::OkStatus();
  }
  absl::Status Wait(std::vector<Completion>& done) override {
    const Read read = reads_.front();
    reads_.pop_front();
    seen_.in_flight = static_cast<int>(reads_.size());
    const auto bytes = static_cast<int64_t>(read.out.size());
    seen_.clock.Advance(nanos_a_mib_ * bytes >> 20);
    done.push_back({read.tag, bytes});
    return absl::OkStatus();
  }

 private:
  const int64_t nanos_a_mib_;
  Seen& seen_;
  std::deque<Read> reads_;
};

FlashProbeOptions QuickOn(int64_t nanos_a_mib, SlowDevice::Seen& seen) {
  FlashProbeOptions options = kQuick;
  options.cancel = &seen.cancel;
  options.clock = &seen.clock;
  options.wrap_device = [nanos_a_mib, &seen](std::unique_ptr<BlockDevice> device) {
    return std::make_unique<SlowDevice>(std::move(device), nanos_a_mib, seen);
  };
  return options;
}

class FlashProbe : public testing::Test {
 protected:
  FlashProbe() { WriteRandomFile(path_, kFile, /*seed=*/51); }

  std::string CacheFile() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(cache_.Path("new"))) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }

  const TemporaryFolder folder_, cache_;
  const CacheFolderFor cache_for_{cache_.Path("new")};
  const std::string path_ = folder_.Path("model.tsr");
};

TEST_F(FlashProbe, HeaderExample) {
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(FlashMeasurement flash, MeasureFlash(path_, kQuick));
    const FlashProfile::Speed& best = flash.profile.Best();
    EXPECT_GT(best.bytes_per_second, 0);
    ASSIGN_OR_RETURN(flash, CachedFlash(path_, kQuick));
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST_F(FlashProbe, MeasuresEachKindOfDeviceAndAPlainRead) {
  for (const IoKind io : {IoKind::kPread, IoKind::kBuffered}) {
    const absl::StatusOr<FlashMeasurement> flash = MeasureFlash(path_, {.io = io, .bytes_per_shape = 0});
    if (absl::IsFailedPrecondition(flash.status())) GTEST_SKIP() << flash.status();
    ASSERT_TRUE(flash.ok()) << flash.status();
    EXPECT_EQ(flash->kind, IoKindName(io));
    std::set<std::pair<int64_t, int>> shapes;
    for (const FlashProfile::Speed& speed : flash->profile.speeds) {
      shapes.emplace(speed.block_bytes, speed.depth);
      EXPECT_GT(speed.bytes_per_second, 0);
    }
    for (const int64_t block_bytes : {512 << 10, 1 << 20, 4 << 20}) EXPECT_TRUE(shapes.contains({block_bytes, 1}));
    EXPECT_GT(flash->sequential_bytes_per_second, 0);
    EXPECT_GE(flash->cpu_seconds_per_gib, 0);
  }
}

TEST_F(FlashProbe, CancelledAtAnyReadTheProbeStartsNoMoreAndWaitsForReadsInFlight) {
  for (const int after : {1, 50, 64, 70, 130, 200, 300}) {
    SCOPED_TRACE(after);
    SlowDevice::Seen seen;
    seen.cancel_after = after;
    const absl::Status status = CachedFlash(path_, QuickOn(/*nanos_a_mib=*/10'000, seen)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_LT(seen.submitted, after + 8) << "no more than what was started, a shape's depth";
    EXPECT_EQ(seen.in_flight, 0);
    EXPECT_TRUE(seen.gone);
    EXPECT_FALSE(std::filesystem::exists(cache_.Path("new"))) << "what was not measured is not kept";
  }
}

TEST_F(FlashProbe, CancelledBeforeTheStartTheProbeReadsNothing) {
  SlowDevice::Seen seen;
  seen.cancel = true;
  EXPECT_EQ(MeasureFlash(path_, QuickOn(/*nanos_a_mib=*/0, seen)).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(seen.submitted, 0);
}

TEST_F(FlashProbe, OnASlowDeviceNoMoreIsInFlightThanIsSoonDrained) {
  SlowDevice::Seen seen;  // 400 MB/s at most: 32 MiB would take a twelfth of a second.
  const absl::StatusOr<FlashMeasurement> flash = MeasureFlash(path_, QuickOn(/*nanos_a_mib=*/2'621'440, seen));
  ASSERT_TRUE(flash.ok()) << flash.status();
  EXPECT_LE(seen.most_bytes, 20'000'000);
  EXPECT_LT(flash->profile.speeds.size(), 12u);
  EXPECT_GE(flash->profile.speeds.size(), 3u);
  EXPECT_EQ(flash->profile.speeds[0].depth, 1);
  for (const FlashProfile::Speed& speed : flash->profile.speeds) {
    EXPECT_NEAR(speed.bytes_per_second, 4e8, 0.1e8) << speed.block_bytes << " bytes, " << speed.depth << " deep";
  }
}

TEST_F(FlashProbe, OnAFastDeviceAllTwelveShapesAreMeasured) {
  SlowDevice::Seen seen;
  const absl::StatusOr<FlashMeasurement> flash = MeasureFlash(path_, QuickOn(/*nanos_a_mib=*/0, seen));
  ASSERT_TRUE(flash.ok()) << flash.status();
  EXPECT_EQ(flash->profile.speeds.size(), 12u);
  EXPECT_EQ(seen.most_bytes, 32 << 20);
}

TEST_F(FlashProbe, AFileTooSmallForAShapeIsMeasuredWithoutThatShape) {
  SlowDevice::Seen seen;
  const absl::StatusOr<FlashMeasurement> flash =
      MeasureFlash(WriteRandomFile(folder_.Path("small"), (1 << 20) + 5, 1), QuickOn(/*nanos_a_mib=*/0, seen));
  ASSERT_TRUE(flash.ok()) << flash.status();
  EXPECT_EQ(flash->profile.speeds.size(), 8u);
  const absl::Status none = MeasureFlash(WriteRandomFile(folder_.Path("tiny"), 4096, 1), kQuick).status();
  EXPECT_TRUE(absl::EndsWith(none.message(), "tiny: size: found 4096 bytes, expected at least 524288")) << none;
}

TEST_F(FlashProbe, ReadsAtAHigherPriorityOnlyIfAskedAndLeavesTheCallersUnchanged) {
  const ThreadPriority own = PriorityOfThisThread();
  for (const bool raise : {false, true}) {
    std::set<ThreadPriority> seen;
    FlashProbeOptions options = kQuick;
    options.raise_priority = raise;
    options.wrap_device = [&](std::unique_ptr<BlockDevice> below) { return std::make_unique<PriorityDevice>(std::move(below), seen); };
    ASSERT_TRUE(MeasureFlash(path_, options).ok());
    if (!raise) {
      EXPECT_EQ(seen, std::set<ThreadPriority>{own});
    }
    EXPECT_EQ(PriorityOfThisThread(), own);
  }
}

TEST_F(FlashProbe, TheSecondMeasurementIsReadFromTheCache) {
  const absl::StatusOr<FlashMeasurement> first = CachedFlash(path_, kQuick), second = CachedFlash(path_, kQuick);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->kind, first->kind);
  ASSERT_EQ(second->profile.speeds.size(), first->profile.speeds.size());
  EXPECT_NEAR(second->sequential_bytes_per_second, first->sequential_bytes_per_second, 1);
  // The measurement is a profile like any other.
  const absl::StatusOr<FlashProfile> profile = LoadFlashProfile(CacheFile());
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_NEAR(profile->Best().bytes_per_second, first->profile.Best().bytes_per_second, 1);
}

TEST_F(FlashProbe, AnotherKindOfDeviceHasItsOwnCache) {
  ASSERT_TRUE(CachedFlash(path_, {.io = IoKind::kBuffered, .bytes_per_shape = 0}).ok());
  EXPECT_TRUE(absl::EndsWith(CacheFile(), "_buffered.textproto")) << CacheFile();
}

TEST_F(FlashProbe, AMeasurementWithAnotherBufferIsRepeated) {
  ASSERT_TRUE(CachedFlash(path_, kQuick).ok());
  const std::string before = *ReadFileToString(CacheFile(), 1 << 20);
  ASSERT_TRUE(CachedFlash(path_, {.bytes_per_shape = 0, .buffer_bytes = 96 << 20}).ok());
  const std::string after = *ReadFileToString(CacheFile(), 1 << 20);
  EXPECT_TRUE(absl::StrContains(before, "buffer_bytes: 33554432")) << before;
  EXPECT_TRUE(absl::StrContains(after, "buffer_bytes: 100663296")) << after;
}

TEST_F(FlashProbe, ADamagedCacheIsMeasuredAnew) {
  ASSERT_TRUE(CachedFlash(path_, kQuick).ok());
  const std::string file = CacheFile(), good = *ReadFileToString(file, 1 << 20);
  const auto with = [&](absl::string_view old, absl::string_view in_its_place) {
    std::string text = good;
    const size_t at = text.find(std::string(old));
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), std::string(in_its_place));
  };
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), std::string("\xff\x00\x01", 3), with("device: ", "device: 9"),
        with("kernel: \"", "kernel: \"9"), with("block_bytes: ", "block_bytes: -"), with("\n    bytes: ", "\n    bytes: 9"),
        with("\n    kind: ", "\n    kind: 9"), with("file_system {\n", "file_system {\n    id: 77\n"),
        with("sequential_megabytes_per_second: ", "sequential_megabytes_per_second: -")}) {
    std::ofstream(file, std::ios::binary) << bad;
    const absl::StatusOr<FlashMeasurement> flash = CachedFlash(path_, kQuick);
    ASSERT_TRUE(flash.ok()) << flash.status();
    EXPECT_GT(flash->sequential_bytes_per_second, 0);
    EXPECT_NE(*ReadFileToString(file, 1 << 20), bad) << "another file system's, or none, was believed";
    EXPECT_TRUE(LoadFlashProfile(file).ok()) << "the cache is good again";
    const bool other = absl::StrContains(flash->cache.message(), "was measured on another");
    EXPECT_TRUE(flash->cache.ok() || absl::StartsWith(flash->cache.message(), "measured again: ") || other) << flash->cache;
  }
}

TEST_F(FlashProbe, WithoutACacheTheProbeMeasuresEachTime) {
  std::ofstream(cache_.Path("a file"));
  const CacheFolderFor a_file(cache_.Path("a file"));
  const absl::StatusOr<FlashMeasurement> flash = CachedFlash(path_, kQuick);
  ASSERT_TRUE(flash.ok()) << flash.status();
  EXPECT_TRUE(absl::StartsWith(flash->cache.message(), "not kept: ") || absl::StartsWith(flash->cache.message(), "measured again: "))
      << flash->cache;
}

}  // namespace
}  // namespace tessera
