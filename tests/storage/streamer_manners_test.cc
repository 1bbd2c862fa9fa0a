// What opening a streamer does to the process it is in: nothing that was not asked for.
#include <pthread.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include <glog/logging.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/storage/internal/reading_priority.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/priority_device.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

std::atomic<int> forks = 0;

// The priority that a thread of this process has once it runs before others, if the system lets it.
ThreadPriority Raised() {
  ThreadPriority raised;
  std::thread([&] {
    RunBeforeOthers();
    raised = PriorityOfThisThread();
  }).join();
  return raised;
}

TEST(StreamerManners, AStreamerForksLogsAndTakesAPriorityOnlyIfAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.tsr");
  ASSERT_EQ(WriteTsrSample(path, MakeTsrSample({5000, 2 << 20, 700'000})), absl::OkStatus());
  const std::unique_ptr<TsrReader> file = Must(TsrReader::Open(path));
  const StreamPlan plan = Must(PlanStreaming(*file, int64_t{16} << 20, PinPolicy::kNone));
  ASSERT_EQ(pthread_atfork([] { ++forks; }, nullptr, nullptr), 0);
  FLAGS_minloglevel = google::GLOG_INFO;
  testing::internal::CaptureStderr();
  for (const bool asked : {false, true}) {
    std::set<ThreadPriority> seen;
    LayerStreamer::Options options = {.pins = plan.pins, .ring_bytes = plan.ring_bytes, .probe_in_child = asked, .raise_priority = asked};
    options.wrap_device = [&](std::unique_ptr<BlockDevice> below) { return std::make_unique<PriorityDevice>(std::move(below), seen); };
    std::unique_ptr<LayerStreamer> source = Must(LayerStreamer::Open(*file, options));
    for (int unit = 0; unit < source->units(); ++unit) EXPECT_TRUE(source->Acquire(unit).ok()) << unit;
    if (!asked) {
      EXPECT_EQ(forks, 0);
      EXPECT_NE(source->device_io(), IoKind::kIoUring);
      EXPECT_TRUE(absl::StrContains(source->device_reason(), "io_uring: not tried, as probe_in_child is off")) << source->device_reason();
    }
    EXPECT_LE(forks, 1) << "where O_DIRECT is refused there is nothing to find out";
    source = nullptr;
    EXPECT_EQ(seen, std::set<ThreadPriority>{asked ? Raised() : PriorityOfThisThread()});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  FLAGS_minloglevel = google::GLOG_ERROR;
}

}  // namespace
}  // namespace tessera
