// Where the system has no thread to give: what can do without reads all the same, what cannot says so. Each test in a process of its own.
#include <pthread.h>

#include <cstdlib>
#include <iostream>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

// From here on threads would get stacks for which there is no room.
void RefuseThreads() {
  pthread_attr_t attributes;
  CHECK_EQ(pthread_attr_init(&attributes), 0);
  CHECK_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
  CHECK_EQ(pthread_setattr_default_np(&attributes), 0);
}

[[noreturn]] void Exit(const absl::Status& status) {
  std::cerr << status.message();
  std::_Exit(status.ok() ? 0 : 1);
}

TEST(NoThreadsDeathTest, AFileIsReadByTheThreadThatWaits) {
  constexpr int64_t kBytes = 1 << 20;
  constexpr uint64_t kSeed = 5;
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), kBytes, kSeed);
  const auto run = [&] {
    RefuseThreads();
    const OpenedDevice opened = Must(OpenBlockDevice(Must(RandomAccessFile::Open(path)), {.io = IoKind::kBuffered}));
    const AlignedBuffer buffer = Must(AlignedBuffer::Allocate(kBytes));
    BlockReader reader(*opened.device, {.block_bytes = kBytes / 16});
    reader.Start({0, buffer.bytes(), 0});
    const absl::Status status = reader.Next().status;
    Exit(status.ok() && !HoldsRandomBytes(buffer.bytes(), 0, kSeed) ? absl::DataLossError("other bytes") : status);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(NoThreadsDeathTest, AStreamerReportsThatNoThreadStarts) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.tsr");
  const std::vector<int64_t> unit_bytes = {5000, 1 << 20};
  ASSERT_EQ(WriteTsrSample(path, MakeTsrSample(unit_bytes)), absl::OkStatus());
  const auto run = [&] {
    const auto file = Must(TsrReader::Open(path));
    RefuseThreads();
    Exit(LayerStreamer::Open(*file, {.pins = PlanPins(unit_bytes, 0, PinPolicy::kNone), .ring_bytes = 2 << 20}).status());
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(1), "model.tsr: reading: cannot start a thread: ");
}

TEST(NoThreadsDeathTest, AProbeReportsThatNoThreadStarts) {
  const TemporaryFolder folder;
  const std::string path = WriteRandomFile(folder.Path("weights"), 1 << 20, 1);
  const auto run = [&] {
    RefuseThreads();
    Exit(MeasureFlash(path).status());
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(1), "cannot start a thread: ");
}

}  // namespace
}  // namespace tessera
