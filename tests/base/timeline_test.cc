#include "tessera/base/timeline.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/trace_writer.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct FakeDevice { void Run() {} };

TEST(Timeline, HeaderExample) {
  const int layer = 3;
  FakeDevice device;
  Timeline timeline({.capacity = 1 << 16});
  { TimelineScope scope(&timeline, Zone::kGraphRun, /*detail=*/layer); device.Run(); }
  const TemporaryFolder folder;
  EXPECT_TRUE(WriteTrace(timeline, folder.Path("trace.json")).ok());
  ASSERT_EQ(timeline.Events().size(), 1u);
  EXPECT_EQ(timeline.Events()[0].detail, 3);
}

TEST(Timeline, AScopeLastsFromItsConstructionToItsDestruction) {
  VirtualClock clock;
  Timeline timeline({.clock = &clock});
  clock.Advance(100);
  {
    TimelineScope outer(&timeline, Zone::kPass, 1);
    clock.Advance(20);
    TimelineScope inner(&timeline, Zone::kLease, 2, Resource::kFlash);
    clock.Advance(3);
  }
  const std::vector<TimelineEvent> events = timeline.Events();
  ASSERT_EQ(events.size(), 2u);  // In the order in which they ended.
  EXPECT_EQ(events[0].zone, Zone::kLease);
  EXPECT_EQ(events[0].resource, Resource::kFlash);
  EXPECT_EQ(events[0].begin_ns, 120);
  EXPECT_EQ(events[0].end_ns, 123);
  EXPECT_EQ(events[1].zone, Zone::kPass);
  EXPECT_EQ(events[1].resource, Resource::kCpu);
  EXPECT_EQ(events[1].begin_ns, 100);
  EXPECT_EQ(events[1].end_ns, 123);
}

TEST(Timeline, AScopesDetailMayBeKnownLater) {
  Timeline timeline({});
  {
    TimelineScope scope(&timeline, Zone::kDraft, 0);
    scope.SetDetail(7);
  }
  EXPECT_EQ(timeline.Events()[0].detail, 7);
}

TEST(Timeline, EventsBeyondTheCapacityAreCounted) {
  Timeline timeline({.capacity = 3});
  EXPECT_EQ(timeline.dropped(), 0);
  for (int i = 0; i < 10; ++i) timeline.Record({Zone::kSample, Resource::kCpu, i, i, i + 1});
  const std::vector<TimelineEvent> events = timeline.Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].detail, 2);
  EXPECT_EQ(timeline.dropped(), 7);
}

TEST(Timeline, ThreadsRecordAtOnceWithoutLosingEvents) {
  constexpr int kThreads = 4, kEvents = 1000;
  Timeline timeline({.capacity = kThreads * kEvents - 10});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&timeline, t] {
      for (int i = 0; i < kEvents; ++i) timeline.Record({Zone::kPass, Resource::kNpu, t * kEvents + i, 0, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int32_t> details;
  for (const TimelineEvent& event : timeline.Events()) details.insert(event.detail);
  EXPECT_EQ(details.size(), static_cast<size_t>(kThreads * kEvents - 10));
  EXPECT_EQ(timeline.dropped(), 10);
}

TEST(Timeline, EqualWorksHaveOneNumber) {
  Timeline timeline({.capacity = 2});
  const TimelineWork work = {.name = "ffn_up.weight", .bound = "dma", .layer = 3, .rows = 32, .bytes = 4096};
  const int32_t id = timeline.WorkId(work);
  EXPECT_EQ(timeline.WorkId(work), id);
  TimelineWork other = work;
  other.layer = 4;
  EXPECT_NE(timeline.WorkId(other), id);
  EXPECT_EQ(timeline.WorkOf({Zone::kOperator, Resource::kNpu, 0, 0, 1, id}).bytes, 4096);
  EXPECT_EQ(timeline.WorkOf({Zone::kOperator, Resource::kNpu, 0, 0, 1}).name, "") << "an event without a work";
  other.layer = 5;
  EXPECT_EQ(timeline.WorkId(other), 0) << "no more works than events";
}

TEST(Timeline, AScopesResourceMayBeKnownLater) {
  Timeline timeline({});
  {
    TimelineScope scope(&timeline, Zone::kLease, 0, Resource::kFlash);
    scope.SetResource(Resource::kMemory);
  }
  EXPECT_EQ(timeline.Events()[0].resource, Resource::kMemory);
}

TEST(Timeline, ANullTimelineRecordsNothing) {
  TimelineScope scope(nullptr, Zone::kPass, 0);
  EXPECT_DEATH(Timeline({.capacity = 0}), "Check failed");
}

TEST(Timeline, ZonesAndResourcesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (int zone = 0; zone <= static_cast<int>(Zone::kCommit); ++zone) names.insert(std::string(ZoneName(static_cast<Zone>(zone))));
  EXPECT_EQ(names.size(), static_cast<size_t>(Zone::kCommit) + 1);
  for (int resource = 0; resource <= static_cast<int>(Resource::kMemory); ++resource) {
    names.insert(std::string(ResourceName(static_cast<Resource>(resource))));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Zone::kCommit) + static_cast<size_t>(Resource::kMemory) + 2);
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace tessera
