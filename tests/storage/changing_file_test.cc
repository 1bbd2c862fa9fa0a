// A file that another program changes while it is read, in any way: an extent comes as it should be or fails, and nothing crashes.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kPage = BlockDevice::kAlignment, kBlock = 4 * kPage, kExtent = 16 * kBlock, kExtents = 8;
constexpr uint64_t kSeed = 31;

class ChangingFile : public testing::TestWithParam<IoKind> {
 protected:
  void SetUp() override {
    WriteRandomFile(path_, kExtents * kExtent, kSeed);
    absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(path_), {.io = GetParam(), .probe_in_child = true});
    if (absl::IsFailedPrecondition(opened.status())) GTEST_SKIP() << opened.status();
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = std::move(opened->device);
  }

  // Reads all extents, and calls change() between the first and the others. The statuses by id.
  template <typename Change>
  std::vector<absl::Status> ReadWhile(const Change& change) {
    BlockReader reader(*device_, {.block_bytes = kBlock, .check = [](int64_t offset, absl::Span<const std::byte> block) {
                                    return HoldsRandomBytes(block, offset, kSeed) ? absl::OkStatus()
                                                                                  : absl::DataLossError("checksum");
                                  }});
    std::vector<absl::Status> statuses(kExtents);
    for (uint64_t id = 0; id < kExtents; ++id) {
      reader.Start({static_cast<int64_t>(id) * kExtent, buffer_.bytes().subspan(id * kExtent, kExtent), id});
      if (id > 0) continue;
      statuses[0] = reader.Next().status;  // Before others are in flight, so that it is known what comes before the change.
      change();
    }
    while (reader.unfinished() > 0) {
      const BlockReader::Finished finished = reader.Next();
      statuses[finished.id] = finished.status;
    }
    return statuses;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("weights");
  AlignedBuffer buffer_ = *AlignedBuffer::Allocate(kExtents * kExtent);
  std::unique_ptr<BlockDevice> device_;
};

TEST_P(ChangingFile, CutShortTheExtentsBeyondItsEndFail) {
  const std::vector<absl::Status> statuses = ReadWhile([&] { std::filesystem::resize_file(path_, 5 * kExtent + 100); });
  for (const int id : {0, 1, 2, 3, 4}) EXPECT_EQ(statuses[id], absl::OkStatus());
  for (const int id : {5, 6, 7}) EXPECT_TRUE(absl::IsDataLoss(statuses[id])) << id << ": " << statuses[id];
  EXPECT_TRUE(absl::IsFailedPrecondition(device_->CheckUnchanged()));
}

TEST_P(ChangingFile, OverwrittenInPlaceTheExtentsWithOtherBytesFail) {
  const std::vector<absl::Status> statuses = ReadWhile([&] {
    WaitForLaterFileTime(path_);
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6 * kExtent) << std::string(kExtent, 'x');
  });
  for (const int id : {0, 1, 2, 3, 4, 5, 7}) EXPECT_EQ(statuses[id], absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(statuses[6])) << statuses[6];
  EXPECT_TRUE(absl::IsFailedPrecondition(device_->CheckUnchanged()));
}

TEST_P(ChangingFile, ADeletedFileIsReadToItsEnd) {
  for (const absl::Status& status : ReadWhile([&] { std::filesystem::remove(path_); })) EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(device_->CheckUnchanged(), absl::OkStatus());
}

TEST_P(ChangingFile, ReplacedTheOldOneIsReadToItsEnd) {
  const auto replace = [&] {
    WriteRandomFile(folder_.Path("newer"), kPage, kSeed + 1);
    std::filesystem::rename(folder_.Path("newer"), path_);
  };
  for (const absl::Status& status : ReadWhile(replace)) EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(device_->CheckUnchanged(), absl::OkStatus());
}

std::string NameOf(const testing::TestParamInfo<IoKind>& info) {
  return info.param == IoKind::kIoUring ? "IoUring" : info.param == IoKind::kPread ? "Pread" : "Buffered";
}
INSTANTIATE_TEST_SUITE_P(BlockDevice, ChangingFile, testing::Values(IoKind::kIoUring, IoKind::kPread, IoKind::kBuffered), NameOf);

// A model that is streamed pass after pass while its file goes.
const std::vector<int64_t> kUnitBytes = {5000, 1 << 20, 300'000, 700'000};

// It goes before the second unit of the third pass.
template <typename Go>
void StreamWhile(const std::string& path, IoKind io, const Go& go) {
  const TsrSample sample = MakeTsrSample(kUnitBytes);
  CHECK_EQ(WriteTsrSample(path, sample), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = *TsrReader::Open(path);
  const auto source = LayerStreamer::Open(
      *file, {.pins = PlanPins(kUnitBytes, 0, PinPolicy::kNone), .ring_bytes = 2 << 20, .io = io, .probe_in_child = true});
  ASSERT_TRUE(source.ok()) << source.status();
  for (int pass = 0; pass < 10; ++pass) {
    for (int unit = 0; unit < file->units(); ++unit) {
      if (pass == 2 && unit == 1) go();
      const absl::StatusOr<WeightLease> lease = (*source)->Acquire(unit);
      ASSERT_TRUE(lease.ok()) << lease.status();
      ASSERT_EQ(std::memcmp(lease->bytes().data(), sample.units[unit].data(), kUnitBytes[unit]), 0) << unit;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(GoneFile, ADeletedFileIsStillStreamed) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.tsr");
  for (const IoKind io : {IoKind::kAuto, IoKind::kBuffered}) {
    ASSERT_NO_FATAL_FAILURE(StreamWhile(path, io, [&] { std::filesystem::remove(path); }));
  }
}

// A file system that this process alone sees.
bool Mount(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && mount("none", folder.c_str(), "tmpfs", 0, "size=16m") == 0;
}

bool MayMount(const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) _exit(Mount(folder) ? 0 : 1);
  int result;
  CHECK_EQ(waitpid(child, &result, 0), child);
  return result == 0;
}

[[noreturn]] void StreamAndExit(const std::string& folder, IoKind io) {
  CHECK(Mount(folder));
  StreamWhile(folder + "/model.tsr", io, [&] { PCHECK(umount2(folder.c_str(), MNT_DETACH) == 0); });
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(GoneFileDeathTest, AnUnmountedFileIsStillStreamed) {
  const TemporaryFolder folder;
  if (!MayMount(folder.path())) GTEST_SKIP() << "nothing can be mounted here";
  for (const IoKind io : {IoKind::kAuto, IoKind::kBuffered}) {
    EXPECT_EXIT(StreamAndExit(folder.path(), io), testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace tessera
