#include "tessera/storage/open_block_device.h"

#include <pthread.h>

#include <atomic>
#include <string>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = BlockDevice::kAlignment;

TEST(OpenBlockDevice, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), 8 * kBlock, /*seed=*/1);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(AlignedBuffer arena, AlignedBuffer::Allocate(8 * kBlock));
    ASSIGN_OR_RETURN(IoKind io, ParseIoKind("auto"));
    ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> file, RandomAccessFile::Open(path));
    ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file, {.io = io, .buffers = arena.bytes()}));
    const auto Warn = [](const std::string& reason) { EXPECT_EQ(reason.rfind("buffered: ", 0), 0u) << reason; };
    if (opened.io == IoKind::kBuffered) Warn(opened.reason);
    EXPECT_EQ(opened.device->size(), 8 * kBlock);
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

std::atomic<int> forks = 0;

// glibc calls this when the child is forked that finds out about io_uring.
TEST(OpenBlockDevice, ForksAndLogsNothingUnlessAsked) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), 8 * kBlock, /*seed=*/1);
  ASSERT_EQ(pthread_atfork([] { ++forks; }, nullptr, nullptr), 0);
  FLAGS_minloglevel = google::GLOG_INFO;
  testing::internal::CaptureStderr();
  const absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(path));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(forks, 0);
  EXPECT_NE(opened->io, IoKind::kIoUring) << "only a child may find out whether this process may use it";
  EXPECT_TRUE(absl::StrContains(opened->reason, "io_uring: not tried, as probe_in_child is off")) << opened->reason;
  EXPECT_TRUE(OpenBlockDevice(*RandomAccessFile::Open(path), {.io = IoKind::kBuffered}).ok());
  ASSERT_TRUE(OpenBlockDevice(*RandomAccessFile::Open(path), {.probe_in_child = true}).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  FLAGS_minloglevel = google::GLOG_ERROR;
  const bool direct = OpenBlockDevice(*RandomAccessFile::Open(path), {.io = IoKind::kPread}).ok();
  EXPECT_EQ(forks, direct ? 1 : 0) << "where O_DIRECT is refused there is nothing to find out";
}

TEST(OpenBlockDevice, NamesTheChosenKind) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), 8 * kBlock, /*seed=*/1);
  for (const IoKind io : {IoKind::kAuto, IoKind::kPread, IoKind::kBuffered}) {
    const absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(*RandomAccessFile::Open(path), {.io = io, .probe_in_child = true});
    if (!opened.ok()) continue;  // This file system refuses O_DIRECT.
    EXPECT_EQ(IoKindName(opened->io), opened->device->kind());
    if (io != IoKind::kAuto) {
      EXPECT_EQ(opened->io, io);
    }
  }
}

TEST(OpenBlockDevice, KindsAreNamedAsTheFlagNamesThem) {
  EXPECT_EQ(*ParseIoKind("io_uring"), IoKind::kIoUring);
  EXPECT_EQ(*ParseIoKind("pread"), IoKind::kPread);
  EXPECT_EQ(*ParseIoKind("buffered"), IoKind::kBuffered);
  EXPECT_EQ(ParseIoKind("mmap").status().message(), "io: found \"mmap\", expected one of auto, io_uring, pread, buffered");
}

}  // namespace
}  // namespace tessera
