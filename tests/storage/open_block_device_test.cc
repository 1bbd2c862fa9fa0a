#include "tessera/storage/open_block_device.h"

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
    ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(path, {.io = io, .buffers = arena.bytes()}));
    LOG(INFO) << opened.reason;
    EXPECT_EQ(opened.device->size(), 8 * kBlock);
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST(OpenBlockDevice, KindsAreNamedAsTheFlagNamesThem) {
  EXPECT_EQ(*ParseIoKind("io_uring"), IoKind::kIoUring);
  EXPECT_EQ(*ParseIoKind("pread"), IoKind::kPread);
  EXPECT_EQ(*ParseIoKind("buffered"), IoKind::kBuffered);
  EXPECT_EQ(ParseIoKind("mmap").status().message(), "io: found \"mmap\", expected one of auto, io_uring, pread, buffered");
}

}  // namespace
}  // namespace tessera
