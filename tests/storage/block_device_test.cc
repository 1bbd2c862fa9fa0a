// What every device must do, whichever way it reads.
#include "tessera/storage/block_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = BlockDevice::kAlignment;
constexpr uint64_t kSeed = 3;

TEST(BlockDevice, HeaderExample) {
  const TemporaryFolder folder;
  WriteRandomFile(folder.Path("model.tsr"), 1 << 20, kSeed);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(AlignedBuffer arena, AlignedBuffer::Allocate(2 << 20));
    ASSIGN_OR_RETURN(const std::shared_ptr<const RandomAccessFile> file, RandomAccessFile::Open(folder.Path("model.tsr")));
    ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file, {.buffers = arena.bytes()}));
    BlockDevice& device = *opened.device;
    RETURN_IF_ERROR(device.Submit({.offset = 0, .out = arena.bytes().first(1 << 20), .tag = 7}));
    std::vector<BlockDevice::Completion> done;
    RETURN_IF_ERROR(device.Wait(done));
    EXPECT_EQ(done[0].tag, 7u);
    EXPECT_EQ(done[0].result, 1 << 20);
    EXPECT_TRUE(HoldsRandomBytes(arena.bytes().first(1 << 20), 0, kSeed));
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

class EveryDevice : public testing::TestWithParam<IoKind> {
 protected:
  static constexpr int64_t kBlocks = 40, kTail = 100;  // The last block of the file is not whole.

  void SetUp() override {
    path_ = WriteRandomFile(folder_.Path("weights"), kBlocks * kBlock + kTail, kSeed);
    buffer_ = *AlignedBuffer::Allocate(64 * kBlock);
    const absl::Status usable = OpenBlockDevice(*RandomAccessFile::Open(path_), {.io = GetParam(), .probe_in_child = true}).status();
    if (absl::IsFailedPrecondition(usable)) GTEST_SKIP() << usable;
  }

  std::unique_ptr<BlockDevice> Open(int depth = 4) {
    absl::StatusOr<OpenedDevice> opened =
        OpenBlockDevice(*RandomAccessFile::Open(path_),
                        {.io = GetParam(), .probe_in_child = true, .depth = depth, .buffers = buffer_.bytes()});
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->device);
  }

  absl::Span<std::byte> Slot(int64_t block, int64_t blocks = 1) {
    return buffer_.bytes().subspan(block * kBlock, blocks * kBlock);
  }

  // What one read gives.
  int64_t Read(BlockDevice& device, int64_t offset, absl::Span<std::byte> out) {
    EXPECT_EQ(device.Submit({offset, out, 0}), absl::OkStatus());
    std::vector<BlockDevice::Completion> done;
    EXPECT_EQ(device.Wait(done), absl::OkStatus());
    return done.at(0).result;
  }

  const TemporaryFolder folder_;
  std::string path_;
  AlignedBuffer buffer_;
};

TEST_P(EveryDevice, ReportsItsProperties) {
  const std::unique_ptr<BlockDevice> device = Open(/*depth=*/3);
  EXPECT_EQ(device->path(), path_);
  EXPECT_EQ(*ParseIoKind(device->kind()), GetParam());
  EXPECT_EQ(device->size(), kBlocks * kBlock + kTail);
  EXPECT_EQ(device->depth(), 3);
}

TEST_P(EveryDevice, KeepsAsManyReadsInFlightAsItsDepth) {
  const std::unique_ptr<BlockDevice> device = Open(/*depth=*/4);
  std::multiset<uint64_t> tags;
  std::vector<BlockDevice::Completion> done;
  for (int64_t block = 0; block < kBlocks; ++block) {
    if (block - static_cast<int64_t>(done.size()) == 4) {
      ASSERT_EQ(device->Wait(done), absl::OkStatus());
    }
    ASSERT_EQ(device->Submit({block * kBlock, Slot(block), static_cast<uint64_t>(block)}), absl::OkStatus());
  }
  while (done.size() < kBlocks) ASSERT_EQ(device->Wait(done), absl::OkStatus());
  for (const BlockDevice::Completion& completion : done) {
    EXPECT_EQ(completion.result, kBlock);
    tags.insert(completion.tag);
  }
  for (int64_t block = 0; block < kBlocks; ++block) EXPECT_EQ(tags.count(block), 1u);
  EXPECT_TRUE(HoldsRandomBytes(Slot(0, kBlocks), 0, kSeed));
}

TEST_P(EveryDevice, AReadAcrossTheEndIsShortAndOneBeyondGivesNothing) {
  const std::unique_ptr<BlockDevice> device = Open();
  EXPECT_EQ(Read(*device, (kBlocks - 1) * kBlock, Slot(0, 4)), kBlock + kTail);
  EXPECT_TRUE(HoldsRandomBytes(Slot(0).first(kBlock), (kBlocks - 1) * kBlock, kSeed));
  EXPECT_EQ(Read(*device, (kBlocks + 1) * kBlock, Slot(0, 4)), 0);
}

TEST_P(EveryDevice, ReadsIntoUnregisteredBuffers) {
  const std::unique_ptr<BlockDevice> device = Open();
  const AlignedBuffer other = *AlignedBuffer::Allocate(2 * kBlock);
  EXPECT_EQ(Read(*device, kBlock, other.bytes()), 2 * kBlock);
  EXPECT_TRUE(HoldsRandomBytes(other.bytes(), kBlock, kSeed));
}

TEST_P(EveryDevice, ReadsPlainlyWhileReadsAreInFlight) {
  const std::unique_ptr<BlockDevice> device = Open();
  ASSERT_EQ(device->Submit({0, Slot(0, 8), 1}), absl::OkStatus());
  EXPECT_EQ(device->ReadPlain(kBlock, Slot(8)), kBlock);
  EXPECT_TRUE(HoldsRandomBytes(Slot(8), kBlock, kSeed));
  std::vector<BlockDevice::Completion> done;
  EXPECT_EQ(device->Wait(done), absl::OkStatus());
}

TEST_P(EveryDevice, IsOpenedByOneThreadAndUsedByAnother) {
  std::unique_ptr<BlockDevice> device = Open();
  std::thread([&] {
    EXPECT_EQ(Read(*device, 0, Slot(0, 4)), 4 * kBlock);
    device.reset();
  }).join();
  EXPECT_TRUE(HoldsRandomBytes(Slot(0, 4), 0, kSeed));
}

TEST_P(EveryDevice, DestroyingTheDeviceWaitsForReadsInFlight) {
  for (int round = 0; round < 20; ++round) {
    std::unique_ptr<BlockDevice> device = Open();
    for (uint64_t tag = 0; tag < 4; ++tag) ASSERT_EQ(device->Submit({0, Slot(tag * 8, 8), tag}), absl::OkStatus());
    device.reset();
    std::fill(buffer_.bytes().begin(), buffer_.bytes().end(), std::byte{0xAB});
    std::this_thread::yield();
    EXPECT_TRUE(std::all_of(buffer_.bytes().begin(), buffer_.bytes().end(), [](std::byte b) { return b == std::byte{0xAB}; }));
  }
}

TEST_P(EveryDevice, LeavesNothingInThePageCache) {
  const int descriptor = open(path_.c_str(), O_RDONLY);
  DropFromPageCache(descriptor);
  if (CachedPages(descriptor, kBlocks * kBlock) == kBlocks * kBlock / sysconf(_SC_PAGESIZE)) GTEST_SKIP() << path_ << " lies in memory";
  const std::unique_ptr<BlockDevice> device = Open();
  EXPECT_EQ(Read(*device, 0, Slot(0, 32)), 32 * kBlock);
  EXPECT_EQ(Read(*device, 0, Slot(0, 32)), 32 * kBlock);
  EXPECT_EQ(CachedPages(descriptor, kBlocks * kBlock), 0);
  close(descriptor);
}

TEST_P(EveryDevice, NoticesWhetherTheFileWasWrittenTo) {
  const std::unique_ptr<BlockDevice> device = Open();
  EXPECT_EQ(device->CheckUnchanged(), absl::OkStatus());
  WaitForLaterFileTime(path_);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary) << "overwritten";
  const absl::Status status = device->CheckUnchanged();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find(path_ + ": the file changed while it was read: time of writing: found "), std::string::npos)
      << status;
}

TEST_P(EveryDevice, NoticesThatTheFileBecameShorter) {
  const std::unique_ptr<BlockDevice> device = Open();
  std::filesystem::resize_file(path_, 8 * kBlock);
  EXPECT_EQ(Read(*device, 4 * kBlock, Slot(0, 8)), 4 * kBlock);
  EXPECT_EQ(device->CheckUnchanged().message(),
            path_ + ": the file changed while it was read: size: found 32768, expected 163940");
}

TEST_P(EveryDevice, KeepsReadingAFileThatWasDeletedOrReplaced) {
  const std::unique_ptr<BlockDevice> device = Open();
  std::filesystem::create_hard_link(path_, folder_.Path("second name"));
  EXPECT_EQ(device->CheckUnchanged(), absl::OkStatus());
  WriteRandomFile(folder_.Path("newer"), 4 * kBlock, kSeed + 1);
  std::filesystem::rename(folder_.Path("newer"), path_);
  EXPECT_EQ(device->CheckUnchanged(), absl::OkStatus());
  std::filesystem::remove(folder_.Path("second name"));
  EXPECT_EQ(device->CheckUnchanged(), absl::OkStatus());
  EXPECT_EQ(Read(*device, 0, Slot(0, 32)), 32 * kBlock);
  EXPECT_TRUE(HoldsRandomBytes(Slot(0, 32), 0, kSeed));
}

TEST_P(EveryDevice, ReadsThatAreNotAlignedAreABugOfOurs) {
  const std::unique_ptr<BlockDevice> device = Open(/*depth=*/1);
  EXPECT_DEATH((void)device->Submit({512, Slot(0), 0}), "4096 bytes at 512");
  EXPECT_DEATH((void)device->Submit({0, Slot(0).first(100), 0}), "100 bytes at 0");
  EXPECT_DEATH((void)device->Submit({0, Slot(0, 2).subspan(8, kBlock), 0}), "4096 bytes at 0 to");
  ASSERT_EQ(device->Submit({0, Slot(0), 0}), absl::OkStatus());
  EXPECT_DEATH((void)device->Submit({0, Slot(1), 1}), "in_flight_ < depth_ \\(1 vs. 1\\)");
}

std::string NameOf(const testing::TestParamInfo<IoKind>& info) {
  return info.param == IoKind::kIoUring ? "IoUring" : info.param == IoKind::kPread ? "Pread" : "Buffered";
}
INSTANTIATE_TEST_SUITE_P(BlockDevice, EveryDevice, testing::Values(IoKind::kIoUring, IoKind::kPread, IoKind::kBuffered), NameOf);

}  // namespace
}  // namespace tessera
