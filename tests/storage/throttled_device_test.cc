#include "tessera/storage/throttled_device.h"

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/memory_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMillisecond = 1'000'000;
constexpr double kMiBAMillisecond = static_cast<double>(kMiB) * 1e3;  // Bytes per second.
constexpr uint64_t kSeed = 41;

TEST(ThrottledDevice, HeaderExample) {
  const TemporaryFolder folder;
  absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(WriteRandomFile(folder.Path("weights"), kMiB, kSeed)));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto run = [](OpenedDevice opened) -> absl::Status {
    ASSIGN_OR_RETURN(FlashProfile flash, LoadFlashProfile("ufs4.0"));
    ThrottledDevice device(std::move(opened.device), flash);
    const AlignedBuffer buffer = *AlignedBuffer::Allocate(kMiB);
    BlockReader reader(device);
    reader.Start({0, buffer.bytes(), 0});
    RETURN_IF_ERROR(reader.Next().status);
    EXPECT_TRUE(HoldsRandomBytes(buffer.bytes(), 0, kSeed));
    return absl::OkStatus();
  };
  EXPECT_EQ(run(*std::move(opened)), absl::OkStatus());
}

// A modeled flash over memory, on a clock that moves only when somebody sleeps.
class Throttled : public testing::Test {
 protected:
  void Make(FlashProfile profile, int depth) {
    profile.name = "test";
    sleep_ = [&](int64_t nanos) { clock_.Advance(nanos + oversleep_); };
    static const std::string contents = RandomBytes(16 * kMiB, kSeed);
    device_ = std::make_unique<ThrottledDevice>(std::make_unique<MemoryDevice>(contents, depth), profile,
                                                ThrottledDevice::Options{&clock_, sleep_});
    clock_.Advance(1'000 * kMillisecond);
  }

  // How long it takes to read all 16 MiB.
  int64_t ReadAll() {
    const int64_t begin = clock_.NowNanos();
    BlockReader reader(*device_, {.block_bytes = kMiB, .clock = &clock_, .sleep = sleep_});
    reader.Start({0, buffer_.bytes(), 0});
    EXPECT_EQ(reader.Next().status, absl::OkStatus());
    EXPECT_TRUE(HoldsRandomBytes(buffer_.bytes(), 0, kSeed));
    return clock_.NowNanos() - begin;
  }

  // How long a reader waits for what is in flight that was destroyed after so many steps, on a card of depth 8.
  int64_t MillisToDestroy(int block_millis, int most_millis, int steps) {
    Make({.speeds = {{kMiB, 1, kMiBAMillisecond / block_millis}}}, /*depth=*/8);
    std::optional<BlockReader> reader;
    reader.emplace(*device_, BlockReader::Options{
                                 .block_bytes = kMiB, .most_drain_nanos = most_millis * kMillisecond, .clock = &clock_, .sleep = sleep_});
    for (uint64_t id = 0; id < 4; ++id) reader->Start({0, buffer_.bytes(), id});
    for (int i = 0; i < steps; ++i) (void)reader->Step();
    const int64_t begin = clock_.NowNanos();
    reader.reset();
    return (clock_.NowNanos() - begin + kMillisecond / 2) / kMillisecond;
  }

  VirtualClock clock_;
  int64_t oversleep_ = 0;
  std::function<void(int64_t)> sleep_;
  std::unique_ptr<ThrottledDevice> device_;
  const AlignedBuffer buffer_ = *AlignedBuffer::Allocate(16 * kMiB);
};

TEST_F(Throttled, ReadsAtTheSpeedOfTheProfile) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}}}, /*depth=*/4);
  EXPECT_NEAR(ReadAll(), 16 * kMillisecond, 0.2 * kMillisecond);
  EXPECT_NEAR(ReadAll(), 16 * kMillisecond, 0.2 * kMillisecond);
}

TEST_F(Throttled, DeeperReadsGoAtTheSpeedOfTheirDepth) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}, {kMiB, 4, 4 * kMiBAMillisecond}}}, /*depth=*/4);
  // The first three are submitted with fewer in flight, the others with four.
  EXPECT_NEAR(ReadAll(), 3 * kMillisecond + 13 * kMillisecond / 4, 0.3 * kMillisecond);
}

TEST_F(Throttled, NothingComesBeforeTheLatency) {
  Make({.speeds = {{kMiB, 1, 1e6 * kMiBAMillisecond}}, .latency_nanos = 5 * kMillisecond}, /*depth=*/1);
  EXPECT_NEAR(ReadAll(), 16 * 5 * kMillisecond, 0.2 * kMillisecond);
  Make({.speeds = {{kMiB, 1, 1e6 * kMiBAMillisecond}}, .latency_nanos = 5 * kMillisecond}, /*depth=*/4);
  EXPECT_NEAR(ReadAll(), 4 * 5 * kMillisecond, 0.2 * kMillisecond);
}

TEST_F(Throttled, WakingLateCostsNoSpeed) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}}}, /*depth=*/1);
  oversleep_ = kMillisecond / 10;
  EXPECT_NEAR(ReadAll(), 16 * kMillisecond, 0.3 * kMillisecond);
}

TEST_F(Throttled, IdleTimeIsNotSavedUp) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}}}, /*depth=*/4);
  clock_.Advance(500 * kMillisecond);
  EXPECT_NEAR(ReadAll(), 16 * kMillisecond, 0.3 * kMillisecond);
}

TEST_F(Throttled, ADestroyedReaderWaitsNoLongerThanAllowed) {
  for (const int most : {5, 20, 40, 60}) {
    EXPECT_EQ(MillisToDestroy(/*block_millis=*/10, most, /*steps=*/0), 0) << "nothing was read";
    EXPECT_EQ(MillisToDestroy(10, most, 1), most == 5 ? 10 : 20) << "two blocks, before the speed is known";
    for (const int steps : {2, 3, 4, 6, 9, 20, 45})
      EXPECT_LE(MillisToDestroy(10, most, steps), std::max(most, 10)) << most << ", " << steps;
  }
}

TEST_F(Throttled, AFastEnoughDeviceIsSoonGivenItsFullDepth) {
  EXPECT_EQ(MillisToDestroy(/*block_millis=*/1, /*most_millis=*/50, /*steps=*/45), 8);
  EXPECT_EQ(MillisToDestroy(10, 60, 45), 40);
  EXPECT_EQ(MillisToDestroy(10, /*most_millis=*/0, 1), 80) << "no bound";
}

TEST_F(Throttled, PlainReadsTakeTheirTimeToo) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}}}, /*depth=*/1);
  const int64_t begin = clock_.NowNanos();
  EXPECT_EQ(device_->ReadPlain(kMiB, buffer_.bytes().first(4 * kMiB)), 4 * kMiB);
  EXPECT_TRUE(HoldsRandomBytes(buffer_.bytes().first(4 * kMiB), kMiB, kSeed));
  EXPECT_NEAR(clock_.NowNanos() - begin, 4 * kMillisecond, 0.2 * kMillisecond);
}

TEST_F(Throttled, ADeviceThatIsSlowerThanTheProfileIsToldOf) {
  Make({.speeds = {{kMiB, 1, kMiBAMillisecond}}}, /*depth=*/1);
  std::vector<BlockDevice::Completion> done;
  ASSERT_EQ(device_->Submit({0, buffer_.bytes().first(kMiB), 7}), absl::OkStatus());
  clock_.Advance(51 * kMillisecond);
  ASSERT_EQ(device_->Wait(done), absl::OkStatus());
  EXPECT_EQ(done[0].tag, 7u);
  EXPECT_NEAR(device_->late(), 50 * kMillisecond, 0.3 * kMillisecond);
}

}  // namespace
}  // namespace tessera
