#include "tessera/base/trace_writer.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

absl::Status Example(const Timeline& timeline, const std::string& path) {
  RETURN_IF_ERROR(WriteTrace(timeline, path));
  return absl::OkStatus();
}

TEST(TraceWriter, HeaderExample) {
  Timeline timeline({});
  const TemporaryFolder folder;
  const std::string path = folder.Path("trace.json");
  ASSERT_TRUE(Example(timeline, path).ok());
  EXPECT_EQ(*ReadFileToString(path, 1 << 20), TraceJson(timeline));
  EXPECT_FALSE(WriteTrace(timeline, folder.Path("no such directory/trace.json")).ok());
}

struct DrawnEvent { std::string name; int64_t track; double ts, dur; int64_t detail; };

struct Trace {
  std::vector<DrawnEvent> events;
  std::map<int64_t, std::string> tracks;
  int64_t dropped;
};

Trace Parse(const Timeline& timeline) {
  Trace trace;
  const absl::StatusOr<JsonValue> json = JsonValue::Parse(TraceJson(timeline), "trace");
  EXPECT_TRUE(json.ok()) << json.status();
  trace.dropped = *json->Object("otherData")->Int("dropped");
  const JsonValue all = *json->Array("traceEvents");
  for (int64_t i = 0; i < all.size(); ++i) {
    const JsonValue event = all[i], args = *event.Object("args");
    const std::string name = *event.String("name");
    if (*event.String("ph") == "X") {
      trace.events.push_back({name, *event.Int("tid"), *event.Double("ts"), *event.Double("dur"), *args.Int("detail")});
    } else if (name == "thread_name") {
      trace.tracks[*event.Int("tid")] = *args.String("name");
    }
  }
  return trace;
}

TEST(TraceWriter, TimesAreMicrosecondsSinceTheFirstEventToTheNanosecond) {
  Timeline timeline({});
  const int64_t late = int64_t{40} * 24 * 3600 * 1'000'000'000;  // A machine that has been up for 40 days.
  timeline.Record({Zone::kHead, Resource::kNpu, -7, late + 123'456'789, late + 123'456'790});
  timeline.Record({Zone::kPass, Resource::kCpu, 5, late, late + 1'500});
  const Trace trace = Parse(timeline);
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[0].name, "pass");
  EXPECT_EQ(trace.events[0].ts, 0);
  EXPECT_EQ(trace.events[0].dur, 1.5);
  EXPECT_EQ(trace.events[1].name, "head");
  EXPECT_EQ(trace.events[1].ts, 123456.789);
  EXPECT_EQ(trace.events[1].dur, 0.001);
  EXPECT_EQ(trace.events[1].detail, -7);
}

TEST(TraceWriter, AnEventWithAWorkHasItsNameAndArguments) {
  Timeline timeline({});
  const int32_t work = timeline.WorkId({.name = "ffn_up.weight", .bound = "dma", .layer = 3, .rows = 32, .bytes = 4096});
  timeline.Record({Zone::kOperator, Resource::kNpu, 7, 0, 1000, work});
  timeline.Record({Zone::kOperator, Resource::kNpu, 8, 2000, 3000});
  const JsonValue events = *JsonValue::Parse(TraceJson(timeline), "trace")->Array("traceEvents");
  EXPECT_EQ(*events[0].String("name"), "ffn_up.weight");
  const JsonValue arguments = *events[0].Object("args");
  EXPECT_EQ(*arguments.Int("detail"), 7);
  EXPECT_EQ(*arguments.Int("layer"), 3);
  EXPECT_EQ(*arguments.Int("rows"), 32);
  EXPECT_EQ(*arguments.Int("bytes"), 4096);
  EXPECT_EQ(*arguments.String("bound"), "dma");
  EXPECT_EQ(*events[1].String("name"), "operator");
  EXPECT_FALSE(events[1].Object("args")->Has("layer"));
}

TEST(TraceWriter, EachResourceHasANamedTrack) {
  Timeline timeline({});
  for (Resource resource : {Resource::kFlash, Resource::kCpu, Resource::kCpu}) timeline.Record({Zone::kLoad, resource, 0, 0, 0});
  const Trace trace = Parse(timeline);
  std::multiset<std::string> drawn;
  for (const DrawnEvent& event : trace.events) drawn.insert(trace.tracks.at(event.track));
  EXPECT_EQ(drawn, (std::multiset<std::string>{"cpu", "cpu", "flash"}));
}

TEST(TraceWriter, OnATrackEventsNestOrFollowEachOther) {
  Timeline timeline({});
  const auto record = [&](int32_t detail, int64_t begin, int64_t end) {
    timeline.Record({Zone::kLease, Resource::kFlash, detail, begin, end});
  };
  record(0, 0, 10'000);
  record(1, 2'000, 4'000);     // Within 0.
  record(2, 5'000, 15'000);    // Overlaps the end of 0.
  record(3, 10'000, 12'000);   // Follows 0.
  const Trace trace = Parse(timeline);
  std::map<int64_t, std::string> track_of;
  for (const DrawnEvent& event : trace.events) track_of[event.detail] = trace.tracks.at(event.track);
  EXPECT_EQ(track_of, (std::map<int64_t, std::string>{{0, "flash"}, {1, "flash"}, {2, "flash 2"}, {3, "flash"}}));
}

TEST(TraceWriter, ManyOverlapsShareABoundedNumberOfTracks) {
  Timeline timeline({});
  for (int i = 0; i < 500; ++i) timeline.Record({Zone::kLease, Resource::kDma, i, i, i + 1000});
  EXPECT_EQ(Parse(timeline).tracks.size(), 64u);
}

TEST(TraceWriter, SaysHowManyEventsWereDropped) {
  Timeline timeline({.capacity = 1});
  for (int i = 0; i < 4; ++i) timeline.Record({Zone::kPass, Resource::kCpu, i, i, i});
  EXPECT_EQ(Parse(timeline).dropped, 3);
}

}  // namespace
}  // namespace tessera
