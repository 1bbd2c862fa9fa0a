// The reader on devices that do as they are told; those that fail are in block_reader_faults_test.cc.
#include "tessera/storage/block_reader.h"

#include <set>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/memory_device.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = BlockDevice::kAlignment;
constexpr uint64_t kSeed = 5;

TEST(BlockReader, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), 32 << 20, kSeed);
  const absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(path));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const AlignedBuffer arena = *AlignedBuffer::Allocate(32 << 20);
  int64_t checked = 0;
  const auto check = [&](int64_t offset, absl::Span<const std::byte> block) {
    checked += static_cast<int64_t>(block.size());
    return HoldsRandomBytes(block, offset, kSeed) ? absl::OkStatus() : absl::DataLossError("other bytes");
  };
  const auto run = [&]() -> absl::Status {
    BlockReader reader(*opened->device, {.check = check});
    reader.Start({.offset = 0, .out = arena.bytes().first(16 << 20), .id = 1});
    reader.Start({.offset = 16 << 20, .out = arena.bytes().subspan(16 << 20, 16 << 20), .id = 2});
    while (reader.unfinished() > 0) {
      const BlockReader::Finished finished = reader.Next();
      RETURN_IF_ERROR(finished.status);
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(checked, 32 << 20);
}

TEST(BlockReader, ReadsExtentsOfEverySizeAroundABlock) {
  MemoryDevice device(RandomBytes(64 * kBlock, kSeed));
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(64 * kBlock);
  for (const int64_t blocks : {1, 3, 4, 5, 8, 63, 64}) {
    BlockReader reader(device, {.block_bytes = 4 * kBlock});
    reader.Start({(64 - blocks) * kBlock, buffer.bytes().first(blocks * kBlock), 9});
    const BlockReader::Finished finished = reader.Next();
    EXPECT_EQ(finished.id, 9u);
    EXPECT_EQ(finished.status, absl::OkStatus());
    EXPECT_EQ(reader.unfinished(), 0);
    EXPECT_TRUE(HoldsRandomBytes(buffer.bytes().first(blocks * kBlock), (64 - blocks) * kBlock, kSeed));
    EXPECT_EQ(reader.counters().bytes, blocks * kBlock);
    EXPECT_EQ(reader.counters().reads, (blocks + 3) / 4);
  }
}

TEST(BlockReader, AnExtentOfNothingIsFinishedAtOnce) {
  MemoryDevice device(RandomBytes(kBlock, kSeed));
  BlockReader reader(device);
  reader.Start({kBlock, {}, 4});
  ASSERT_EQ(reader.unfinished(), 1);
  EXPECT_EQ(reader.Next().id, 4u);
  EXPECT_EQ(reader.counters().reads, 0);
}

TEST(BlockReader, KeepsTheDeviceAtItsDepth) {
  MemoryDevice device(RandomBytes(64 * kBlock, kSeed), /*depth=*/7);
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(64 * kBlock);
  BlockReader reader(device, {.block_bytes = kBlock});
  for (uint64_t id = 0; id < 64; ++id) {
    reader.Start({static_cast<int64_t>(id) * kBlock, buffer.bytes().subspan(id * kBlock, kBlock), id});
  }
  std::set<uint64_t> ids;
  while (reader.unfinished() > 0) ids.insert(reader.Next().id);
  EXPECT_EQ(ids.size(), 64u);
  EXPECT_EQ(device.most_in_flight(), 7);
  EXPECT_TRUE(HoldsRandomBytes(buffer.bytes(), 0, kSeed));
}

TEST(BlockReader, StepReturnsBetweenBlocksSoThatMoreCanBeStarted) {
  MemoryDevice device(RandomBytes(64 * kBlock, kSeed), /*depth=*/2);
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(64 * kBlock);
  BlockReader reader(device, {.block_bytes = kBlock});
  reader.Start({0, buffer.bytes().first(32 * kBlock), 1});
  EXPECT_FALSE(reader.Step().has_value());
  EXPECT_EQ(reader.counters().bytes, 2 * kBlock);
  reader.Start({32 * kBlock, buffer.bytes().last(32 * kBlock), 2});
  EXPECT_EQ(reader.Next().id, 1u);
  EXPECT_EQ(reader.Next().id, 2u);
  EXPECT_TRUE(HoldsRandomBytes(buffer.bytes(), 0, kSeed));
}

TEST(BlockReader, ChecksEachBlockOnceAndWhole) {
  MemoryDevice device(RandomBytes(10 * kBlock, kSeed));
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(10 * kBlock);
  std::multiset<std::pair<int64_t, int64_t>> checked;
  BlockReader reader(device, {.block_bytes = 4 * kBlock, .check = [&](int64_t offset, absl::Span<const std::byte> block) {
                                EXPECT_TRUE(HoldsRandomBytes(block, offset, kSeed));
                                checked.emplace(offset, block.size());
                                return absl::OkStatus();
                              }});
  reader.Start({kBlock, buffer.bytes().first(9 * kBlock), 0});
  EXPECT_EQ(reader.Next().status, absl::OkStatus());
  EXPECT_EQ(checked,
            (std::multiset<std::pair<int64_t, int64_t>>{{kBlock, 4 * kBlock}, {5 * kBlock, 4 * kBlock}, {9 * kBlock, kBlock}}));
}

TEST(BlockReader, ALargeReadIsCheckedByParts) {
  MemoryDevice device(RandomBytes(10 * kBlock, kSeed));
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(10 * kBlock);
  std::multiset<std::pair<int64_t, int64_t>> checked;
  BlockReader reader(
      device,
      {.block_bytes = 6 * kBlock, .check_bytes = 2 * kBlock, .check = [&](int64_t offset, absl::Span<const std::byte> piece) {
         EXPECT_TRUE(HoldsRandomBytes(piece, offset, kSeed));
         checked.emplace(offset / kBlock, piece.size() / kBlock);
         return absl::OkStatus();
       }});
  reader.Start({kBlock, buffer.bytes().first(9 * kBlock), 0});
  EXPECT_EQ(reader.Next().status, absl::OkStatus());
  EXPECT_EQ(reader.counters().reads, 2);
  EXPECT_EQ(checked, (std::multiset<std::pair<int64_t, int64_t>>{{1, 2}, {3, 2}, {5, 2}, {7, 2}, {9, 1}}));
}

TEST(BlockReader, DestroyingTheReaderLeavesNothingInFlight) {
  MemoryDevice device(RandomBytes(8 * kBlock, kSeed), /*depth=*/4);
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(8 * kBlock);
  for (int round = 0; round < 3; ++round) {  // A read left over would be one too many here.
    BlockReader reader(device, {.block_bytes = kBlock});
    reader.Start({0, buffer.bytes(), 0});
    EXPECT_FALSE(reader.Step().has_value());
  }
}

TEST(BlockReader, AfterTheDeviceFailedAllThatIsStartedFails) {
  for (const bool submit : {true, false}) {
    MemoryDevice device(RandomBytes(64 * kBlock, kSeed), /*depth=*/4);
    if (submit) device.BreakSubmitAfter(10);
    if (!submit) device.BreakWaitAfter(10);
    const AlignedBuffer buffer = *AlignedBuffer::Allocate(64 * kBlock);
    BlockReader reader(device, {.block_bytes = kBlock});
    for (uint64_t id = 0; id < 4; ++id) {
      reader.Start({static_cast<int64_t>(id) * 16 * kBlock, buffer.bytes().subspan(id * 16 * kBlock, 16 * kBlock), id});
    }
    for (uint64_t id = 0; id < 4; ++id) {
      const BlockReader::Finished finished = reader.Next();
      EXPECT_EQ(finished.id, id);
      EXPECT_EQ(finished.status.message(), submit ? "memory: no more reads" : "memory: no more completions");
    }
    reader.Start({0, buffer.bytes(), 5});
    EXPECT_TRUE(absl::IsUnavailable(reader.Next().status));
    EXPECT_EQ(reader.unfinished(), 0);
  }
}

TEST(BlockReader, ExtentsOutsideTheFileAreABugOfOurs) {
  MemoryDevice device(RandomBytes(4 * kBlock, kSeed));
  const AlignedBuffer buffer = *AlignedBuffer::Allocate(8 * kBlock);
  BlockReader reader(device);
  EXPECT_DEATH(reader.Start({0, buffer.bytes().first(5 * kBlock), 0}), "memory: 20480 bytes at 0 of 16384");
  EXPECT_DEATH(reader.Start({5 * kBlock, {}, 0}), "memory: 0 bytes at 20480 of 16384");
  EXPECT_DEATH(reader.Start({-kBlock, buffer.bytes().first(kBlock), 0}), "4096 bytes at -4096 of 16384");
  EXPECT_DEATH((void)reader.Step(), "memory");
}

}  // namespace
}  // namespace tessera
