// The reader on devices that fail. Whatever a device does, an extent comes byte for byte or ends with an error that says what
// failed and where; the extents beside it are not touched by that.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/tests/fakes/faulty_device.h"
#include "tessera/tests/fakes/memory_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

constexpr int64_t kPage = BlockDevice::kAlignment;
constexpr int64_t kBlock = 4 * kPage, kExtent = 4 * kBlock, kExtents = 4, kFile = kExtents * kExtent;
constexpr uint64_t kSeed = 11;

absl::Status CheckContents(int64_t offset, absl::Span<const std::byte> block) {
  return HoldsRandomBytes(block, offset, kSeed) ? absl::OkStatus() : absl::DataLossError("checksum: wrong");
}

// A file of four extents, read through a device with faults; time passes only when the reader sleeps or the device says so.
class BlockReaderFaults : public testing::Test {
 protected:
  // Reads the file once. Every extent that is said to have come has come.
  std::map<uint64_t, absl::Status> ReadAll(FaultSchedule schedule, bool check = false) {
    schedule.clock = &clock_;
    FaultyDevice device(disk_, schedule);
    BlockReader reader(device, {.block_bytes = kBlock,
                                .check_bytes = check_bytes_,
                                .check = check ? CheckContents : decltype(BlockReader::Options::check)(),
                                .clock = &clock_,
                                .sleep = [&](int64_t nanos) { clock_.Advance(nanos); }});
    std::fill(buffer_.bytes().begin(), buffer_.bytes().end(), std::byte{0});
    for (uint64_t id = 0; id < kExtents; ++id) reader.Start({static_cast<int64_t>(id) * kExtent, Extent(id), id});
    std::map<uint64_t, absl::Status> statuses;
    while (reader.unfinished() > 0) {
      const BlockReader::Finished finished = reader.Next();
      EXPECT_TRUE(statuses.emplace(finished.id, finished.status).second) << "extent " << finished.id << " finished twice";
      if (finished.status.ok()) {
        EXPECT_TRUE(HoldsRandomBytes(Extent(finished.id), static_cast<int64_t>(finished.id) * kExtent, kSeed));
      }
    }
    counters_ = reader.counters();
    faults_ += device.faults();
    return statuses;
  }

  // The same with many seeds, where every fault can be survived.
  void ExpectSurvives(FaultSchedule schedule, bool check = false) {
    for (schedule.seed = 0; schedule.seed < static_cast<uint64_t>(Fewer(100, /*sanitized=*/60)); ++schedule.seed) {
      SCOPED_TRACE(schedule.seed);
      for (const auto& [id, status] : ReadAll(schedule, check)) ASSERT_EQ(status, absl::OkStatus()) << "extent " << id;
    }
    EXPECT_GT(faults_, 50) << "the schedule met too few faults to show anything";
  }

  absl::Span<std::byte> Extent(uint64_t id) { return buffer_.bytes().subspan(id * kExtent, kExtent); }

  MemoryDevice disk_{RandomBytes(kFile, kSeed)};
  AlignedBuffer buffer_ = *AlignedBuffer::Allocate(kFile);
  int64_t check_bytes_ = 0;
  VirtualClock clock_;
  BlockReader::Counters counters_;
  int64_t faults_ = 0;
};

TEST_F(BlockReaderFaults, ShortReadsOfAnyLengthAreContinued) { ExpectSurvives({.short_read = 0.5}); }

TEST_F(BlockReaderFaults, InterruptionsAreAskedAgain) { ExpectSurvives({.interruption = 0.5}); }

TEST_F(BlockReaderFaults, AStormOfInterruptionsIsWaitedOut) {
  for (const auto& [id, status] : ReadAll({.seed = 1, .storm = 99})) EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(counters_.interruptions, 99 * kFile / kBlock);
  EXPECT_GT(clock_.NowNanos(), 500'000'000);
  EXPECT_LT(clock_.NowNanos(), 2'000'000'000) << "the blocks' pauses go on at the same time";
}

TEST_F(BlockReaderFaults, AStormWithoutEndIsAnError) {
  for (const auto& [id, status] : ReadAll({.seed = 1, .storm = 1'000'000})) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), absl::StrCat("memory: bytes ", id * kExtent, " to "))) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), ": cannot be read: ")) << status;
  }
}

TEST_F(BlockReaderFaults, AnIoErrorIsTriedAgain) { ExpectSurvives({.io_error = 0.05}); }

TEST_F(BlockReaderFaults, AnIoErrorThatStaysFailsItsExtentAlone) {
  const int64_t byte = kExtent + kBlock + 77;
  const auto statuses = ReadAll({.seed = 1, .sticky_io_error = byte});
  EXPECT_EQ(statuses.at(1), absl::UnavailableError("memory: bytes 81920 to 98304: cannot be read: Input/output error"));
  for (const uint64_t id : {0, 2, 3}) EXPECT_EQ(statuses.at(id), absl::OkStatus());
  EXPECT_EQ(counters_.io_errors, 3);
}

TEST_F(BlockReaderFaults, AnIoErrorAtAnyReadOfAPassIsSurvived) {
  for (int64_t read = 0; read < kFile / kBlock; ++read) {
    for (const auto& [id, status] : ReadAll({.seed = 1, .io_error_at_read = read})) ASSERT_EQ(status, absl::OkStatus()) << read;
    EXPECT_EQ(counters_.io_errors, 1);
  }
}

TEST_F(BlockReaderFaults, ReadsRefusedAsInvalidGoThroughThePageCache) {
  ExpectSurvives({.invalid = 0.3});
  EXPECT_EQ(counters_.plain_reads, counters_.io_errors);
}

TEST_F(BlockReaderFaults, ASpikeOfSecondsIsWaitedForAndReported) {
  for (const auto& [id, status] : ReadAll({.seed = 3, .latency_spike = 0.2, .spike_nanos = 3'000'000'000})) {
    EXPECT_EQ(status, absl::OkStatus());
  }
  EXPECT_GT(faults_, 0);
  EXPECT_EQ(counters_.wait_nanos, faults_ * 3'000'000'000);
}

TEST_F(BlockReaderFaults, CompletionsMayComeInAnyOrder) {
  bool reordered = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    for (const auto& [id, status] : ReadAll({.seed = seed, .reordering = 0.7})) ASSERT_EQ(status, absl::OkStatus());
    reordered = reordered || disk_.most_in_flight() > 1;
  }
  EXPECT_TRUE(reordered);
}

TEST_F(BlockReaderFaults, AFlippedBitIsReadAgain) { ExpectSurvives({.bit_flip = 0.3}, /*check=*/true); }
TEST_F(BlockReaderFaults, AZeroedSectorIsReadAgain) { ExpectSurvives({.zeroed_sector = 0.3}, /*check=*/true); }
TEST_F(BlockReaderFaults, AMisdirectedReadIsReadAgain) { ExpectSurvives({.misdirection = 0.3}, /*check=*/true); }

TEST_F(BlockReaderFaults, AStaleBlockIsReadAgain) {
  MemoryDevice older(RandomBytes(kFile, kSeed + 1));
  ExpectSurvives({.stale = 0.3, .older = &older}, /*check=*/true);
}

TEST_F(BlockReaderFaults, WithoutACheckAFlippedBitIsNotNoticed) {  // So those above show that it is the check that notices.
  FaultyDevice device(disk_, {.seed = 1, .bit_flip = 1});
  BlockReader reader(device, {.block_bytes = kBlock});
  reader.Start({0, Extent(0), 0});
  EXPECT_EQ(reader.Next().status, absl::OkStatus());
  EXPECT_FALSE(HoldsRandomBytes(Extent(0), 0, kSeed));
}

TEST_F(BlockReaderFaults, BytesThatAreWrongOnTheDiskFailTheirExtentAlone) {
  disk_.contents()[2 * kExtent + 5] ^= 1;
  const auto statuses = ReadAll({.seed = 1}, /*check=*/true);
  EXPECT_EQ(statuses.at(2), absl::DataLossError("memory: bytes 131072 to 147456: checksum: wrong"));
  for (const uint64_t id : {0, 1, 3}) EXPECT_EQ(statuses.at(id), absl::OkStatus());
  EXPECT_EQ(counters_.mismatches, 2);
  EXPECT_EQ(counters_.plain_reads, 1);
}

TEST_F(BlockReaderFaults, OfALargeReadOnlyTheWrongBlockIsReadAgain) {
  check_bytes_ = kPage;
  for (const auto& [id, status] : ReadAll({.seed = 1, .bit_flip = 1}, /*check=*/true)) EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(counters_.mismatches, kFile / kBlock);
  EXPECT_EQ(counters_.plain_reads, kFile / kBlock);
  disk_.contents()[2 * kExtent + kPage + 5] ^= 1;
  const auto statuses = ReadAll({.seed = 1}, /*check=*/true);
  EXPECT_EQ(statuses.at(2), absl::DataLossError("memory: bytes 135168 to 139264: checksum: wrong"));
  for (const uint64_t id : {0, 1, 3}) EXPECT_EQ(statuses.at(id), absl::OkStatus());
}

TEST_F(BlockReaderFaults, AFileCutShortIsAnErrorAtEveryLength) {
  for (const int64_t around : {int64_t{0}, kPage, kBlock, kExtent, 2 * kExtent + kBlock, kFile - kPage}) {
    for (const int64_t length : {around - 1, around, around + 1}) {
      if (length < 0) continue;
      SCOPED_TRACE(length);
      const auto statuses = ReadAll({.seed = 1, .cut_short_at = length});
      for (const auto& [id, status] : statuses) {
        const int64_t end = static_cast<int64_t>(id + 1) * kExtent;
        EXPECT_EQ(status.ok(), end <= length) << id << ": " << status;
        EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
      }
      EXPECT_TRUE(absl::StrContains(statuses.at(length / kExtent).message(), ": the file gave nothing from byte "));
      EXPECT_TRUE(absl::EndsWith(statuses.at(length / kExtent).message(), " on, expected 262144 bytes"));
    }
  }
}

TEST_F(BlockReaderFaults, AFileCutShortWhileItsReadIsRefusedIsAnErrorToo) {
  const auto statuses = ReadAll({.seed = 1, .invalid = 1, .cut_short_at = kBlock + 100});
  EXPECT_EQ(statuses.at(0),
            absl::DataLossError("memory: bytes 16384 to 32768: the file gave nothing from byte 16484 on, expected 262144 bytes"));
}

TEST_F(BlockReaderFaults, AllAtOnceGiveTheSameBytesOrAnErrorAndTheSameEachTime) {
  MemoryDevice older(RandomBytes(kFile, kSeed + 1));
  FaultSchedule schedule = {.short_read = 0.2, .interruption = 0.2, .io_error = 0.1, .invalid = 0.05,
                            .bit_flip = 0.05, .zeroed_sector = 0.05, .misdirection = 0.05, .stale = 0.05,
                            .reordering = 0.5, .latency_spike = 0.05, .older = &older, .spike_nanos = 1'000'000};
  int failed = 0;
  for (schedule.seed = 0; schedule.seed < static_cast<uint64_t>(Fewer(400, /*sanitized=*/60)); ++schedule.seed) {
    SCOPED_TRACE(schedule.seed);
    const auto statuses = ReadAll(schedule, /*check=*/true);
    ASSERT_EQ(statuses.size(), static_cast<size_t>(kExtents));
    for (const auto& [id, status] : statuses) {
      failed += !status.ok();
      ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    }
    if (schedule.seed % 10 == 0) {
      ASSERT_EQ(ReadAll(schedule, /*check=*/true), statuses);
    }
  }
  EXPECT_GT(failed, 0);
}

// What older kernels do with direct reads of more than 1 MiB.
class SmallReadsOnly : public MemoryDevice {
 public:
  using MemoryDevice::MemoryDevice;
  absl::Status Submit(const Read& read) override {
    if (read.out.size() <= 1 << 20) return MemoryDevice::Submit(read);
    refused_.push_back({read.tag, -EAGAIN});
    return absl::OkStatus();
  }
  absl::Status Wait(std::vector<Completion>& done) override {
    done.insert(done.end(), refused_.begin(), refused_.end());
    if (!refused_.empty()) return refused_.clear(), absl::OkStatus();
    return MemoryDevice::Wait(done);
  }

 private:
  std::vector<Completion> refused_;
};

TEST(BlockReaderSizes, RefusedLargeReadsAreSplit) {
  constexpr int64_t kBytes = 8 << 20;
  SmallReadsOnly device(RandomBytes(kBytes, kSeed), /*depth=*/1);
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(kBytes);
  BlockReader reader(device, {.block_bytes = 4 << 20});
  reader.Start({0, buffer.bytes(), 0});
  EXPECT_EQ(reader.Next().status, absl::OkStatus());
  EXPECT_TRUE(HoldsRandomBytes(buffer.bytes(), 0, kSeed));
  EXPECT_EQ(reader.counters().interruptions, 2);
  EXPECT_EQ(reader.counters().short_reads, 0);
  EXPECT_EQ(reader.counters().reads, 2 + 8);
}

}  // namespace
}  // namespace tessera
