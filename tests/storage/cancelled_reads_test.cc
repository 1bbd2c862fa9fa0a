// Reading that is given up at any moment: nothing writes to memory that is free again, and a reader that goes on gets right bytes.
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/late_device.h"
#include "tessera/tests/fakes/memory_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kPage = BlockDevice::kAlignment, kExtent = 8 * kPage, kExtents = 6;
constexpr uint64_t kContents = 41;

// Some extents are begun and some steps made; then the reader goes, and from then on nothing writes to the buffer.
void ReadAndGiveUp(BlockDevice& device, SeededRandom& random) {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(kExtents * kExtent);
  {
    BlockReader reader(device, {.block_bytes = kPage << random.Below(4)});
    for (int64_t i = 0; i < kExtents; ++i) {
      reader.Start({i * kExtent, buffer.bytes().subspan(i * kExtent, kExtent), static_cast<uint64_t>(i)});
      for (int64_t steps = random.Below(6); steps > 0 && reader.unfinished() > 0; --steps) {
        const std::optional<BlockReader::Finished> finished = reader.Step();
        if (!finished.has_value()) continue;
        const int64_t offset = static_cast<int64_t>(finished->id) * kExtent;
        ASSERT_EQ(finished->status, absl::OkStatus());
        ASSERT_TRUE(HoldsRandomBytes(buffer.bytes().subspan(offset, kExtent), offset, kContents));
      }
    }
  }
  const std::vector<std::byte> before(buffer.size(), std::byte{0xCD});
  std::memcpy(buffer.data(), before.data(), before.size());
  Dawdle(random.Below(1000));
  ASSERT_EQ(std::memcmp(buffer.data(), before.data(), before.size()), 0);
}

TEST(CancelledReads, AReaderThatGoesAtAnyMomentLeavesNothingInFlight) {
  const std::string contents = RandomBytes(kExtents * kExtent, kContents);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    LateDevice device(std::make_unique<MemoryDevice>(contents, static_cast<int>(1 + random.Below(8))), seed);
    ASSERT_NO_FATAL_FAILURE(ReadAndGiveUp(device, random));
    ASSERT_EQ(device.in_flight(), 0);
  }
}

TEST(CancelledReads, NorDoesOneOfARealDevice) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), kExtents * kExtent, kContents);
  for (const IoKind io : {IoKind::kIoUring, IoKind::kPread, IoKind::kBuffered}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(absl::StrCat(IoKindName(io), " ", seed));
      SeededRandom random(seed);
      const int depth = static_cast<int>(1 + random.Below(8));
      const absl::StatusOr<OpenedDevice> opened =
          OpenBlockDevice(*RandomAccessFile::Open(path), {.io = io, .probe_in_child = true, .depth = depth});
      if (absl::IsFailedPrecondition(opened.status())) break;  // This system has no such device.
      ASSERT_TRUE(opened.ok()) << opened.status();
      for (int times = 0; times < 3; ++times) ASSERT_NO_FATAL_FAILURE(ReadAndGiveUp(*opened->device, random));
    }
  }
}

// Passes over a model of a few units, of which each wait may be cancelled, and which end at any moment.
class CancelledPasses : public testing::Test {
 protected:
  CancelledPasses() {
    CHECK_EQ(WriteTsrSample(path_, kSample), absl::OkStatus());
    file_ = *TsrReader::Open(path_);
  }

  LayerStreamer::Options OptionsFor(SeededRandom& random) {
    LayerStreamer::Options options;
    options.pins = PlanPins(kUnitBytes, random.Below(3) * 300'000, PinPolicy::kSpread);
    options.ring_bytes = 1'500'000 + random.Below(2'000'000);
    options.verify = random.Below(2) == 0 ? VerifyPolicy::kAlways : VerifyPolicy::kNever;
    options.depth = static_cast<int>(1 + random.Below(8));
    options.probe_in_child = true;
    options.cancel = &cancel_;
    return options;
  }

  // What came of a lease, or of parts: right bytes, or that it was cancelled.
  void ExpectRightOrCancelled(const absl::StatusOr<WeightLease>& lease, int64_t offset, int64_t bytes) {
    if (absl::IsCancelled(lease.status())) {
      ++cancelled_;
      return;
    }
    ASSERT_TRUE(lease.ok()) << lease.status();
    ASSERT_EQ(static_cast<int64_t>(lease->bytes().size()), bytes);
    ASSERT_EQ(std::memcmp(lease->bytes().data(), kSample.units[lease->unit()].data() + offset, bytes), 0) << lease->unit();
    ++leased_;
  }

  // Some requests, some out of order; about every third is cancelled at some moment of its wait, half of these at its beginning.
  void AskSome(LayerStreamer& source, SeededRandom& random) {
    for (int64_t left = 1 + random.Below(25), unit = 0; left > 0; --left, unit = (unit + 1) % source.units()) {
      if (random.Below(6) == 0) unit = random.Below(source.units());
      const int64_t steps = random.Below(2) * random.Below(400);
      std::thread canceller;
      if (random.Below(3) == 0) {
        if (steps == 0) cancel_ = true;
        canceller = std::thread([this, steps] {
          Dawdle(steps);
          cancel_ = true;
        });
      }
      const int64_t whole = kUnitBytes[unit];
      if (random.Below(5) == 0) {
        absl::StatusOr<std::vector<WeightLease>> parts = source.AcquireParts({{static_cast<int>(unit), 64, whole - 64}});
        ExpectRightOrCancelled(parts.ok() ? absl::StatusOr<WeightLease>(std::move(parts->front())) : parts.status(), 64, whole - 64);
      } else {
        ExpectRightOrCancelled(source.Acquire(static_cast<int>(unit)), 0, whole);
      }
      if (canceller.joinable()) canceller.join();
      cancel_ = random.Below(8) == 0 && left == 1;  // Some end while they are cancelled.
      if (HasFatalFailure()) return;
    }
  }

  void Run(uint64_t seed, LayerStreamer::Options options, SeededRandom& random) {
    SCOPED_TRACE(seed);
    cancel_ = false;
    const absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file_, std::move(options));
    ASSERT_TRUE(source.ok()) << source.status();
    AskSome(**source, random);
  }

  static inline const std::vector<int64_t> kUnitBytes = {5000, 1'100'000, 300'000, 64 + 64, 700'000, 4096};
  static inline const TsrSample kSample = MakeTsrSample(kUnitBytes);
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("sample.tsr");
  std::unique_ptr<TsrReader> file_;
  std::atomic<bool> cancel_ = false;
  int64_t cancelled_ = 0, leased_ = 0;
};

TEST_F(CancelledPasses, OverALateDeviceGiveRightBytesAndLeaveMemoryAloneAfterTheirEnd) {
  for (uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed) {
    SeededRandom random(seed);
    LayerStreamer::Options options = OptionsFor(random);
    options.wrap_device = [seed](std::unique_ptr<BlockDevice> device) { return std::make_unique<LateDevice>(std::move(device), seed); };
    Run(seed, std::move(options), random);
  }
  EXPECT_GT(cancelled_, 5);
  EXPECT_GT(leased_, 100);
}

TEST_F(CancelledPasses, OverRealDevicesDoToo) {
  for (uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed) {
    SeededRandom random(seed);
    LayerStreamer::Options options = OptionsFor(random);
    if (seed % 3 == 0) options.io = IoKind::kBuffered;
    Run(seed, std::move(options), random);
  }
  EXPECT_GT(leased_, 100);
}

}  // namespace
}  // namespace tessera
