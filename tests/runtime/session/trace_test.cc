// What a generation leaves on the timeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/timeline.h"
#include "tessera/base/trace_writer.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/timeline_events.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int kLayers = 2, kPrompt = 20, kWritten = 5;

// A prompt in two passes, then four more passes for five tokens.
Generation RunTraced(Timeline* timeline) {
  const auto engine = TinyEngine({.layers = kLayers, .seed = 11}, {.compute = {.threads = 2, .row_capacity = 16}, .timeline = timeline});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(kPrompt, 13)));
  return Must(Generate(*session, Must(Sampler::Create({.temperature = 0})), {.max_tokens = kWritten, .ignore_end = true}));
}

TEST(Trace, EveryPassGraphRunLeaseAndSampleIsThere) {
  Timeline timeline({});
  const Generation result = RunTraced(&timeline);
  EXPECT_EQ(result.tokens.size(), static_cast<size_t>(kWritten));
  EXPECT_EQ(timeline.dropped(), 0);
  const std::vector<TimelineEvent> events = timeline.Events();

  std::vector<int> rows;
  for (const TimelineEvent& pass : OfZone(events, Zone::kPass)) rows.push_back(pass.detail);
  EXPECT_EQ(rows, (std::vector<int>{16, 4, 1, 1, 1, 1}));
  EXPECT_EQ(OfZone(events, Zone::kHead).size(), 5u);
  EXPECT_EQ(OfZone(events, Zone::kSample).size(), 5u);
  EXPECT_EQ(OfZone(events, Zone::kLoad).size(), 1u);

  // Embedding and layers in each pass, norm and head in each head; each leases its one unit. The pass that ends the prompt runs two graphs
  // of the last layer: one for all rows, which stores their keys and values, and one for the row that is wanted.
  EXPECT_EQ(OfZone(events, Zone::kGraphRun).size(), 6u * (1 + kLayers) + 5u * 2 + 1);
  EXPECT_EQ(OfZone(events, Zone::kLease).size(), 6u * (1 + kLayers) + 5u * 2);
}

TEST(Trace, LeasesAndGraphRunsLieWithinTheirPass) {
  Timeline timeline({});
  RunTraced(&timeline);
  const std::vector<TimelineEvent> events = timeline.Events();
  std::vector<TimelineEvent> outer = OfZone(events, Zone::kPass);
  for (const TimelineEvent& head : OfZone(events, Zone::kHead)) outer.push_back(head);
  std::map<int64_t, std::vector<int>> layers;  // Details of graph runs by the beginning of what holds them, in order.
  for (const TimelineEvent& event : events) {
    EXPECT_LE(event.begin_ns, event.end_ns);
    if (event.zone != Zone::kGraphRun && event.zone != Zone::kLease) continue;
    int holders = 0;
    for (const TimelineEvent& o : outer) {
      if (!Within(event, o)) continue;
      ++holders;
      if (event.zone == Zone::kGraphRun) layers[o.begin_ns].push_back(event.detail);
    }
    EXPECT_EQ(holders, 1) << ZoneName(event.zone) << " " << event.detail;
  }
  for (const TimelineEvent& o : outer) {
    std::vector<int> expected = o.zone == Zone::kPass ? std::vector<int>{-1, 0, 1} : std::vector<int>{2, 2};
    if (o.zone == Zone::kPass && o.detail == 4) expected.push_back(1);
    EXPECT_EQ(layers[o.begin_ns], expected);
  }
}

// Events of one resource come one after the other or lie one within the other; a lease has ended before the run that reads it.
TEST(Trace, EventsOfAResourceNeverCross) {
  Timeline timeline({});
  RunTraced(&timeline);
  std::vector<TimelineEvent> events = timeline.Events();
  for (size_t i = 0; i < events.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const TimelineEvent &a = events[i], &b = events[j];
      const bool apart = a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns;
      const auto works = [](const TimelineEvent& event) { return event.zone == Zone::kGraphRun || event.zone == Zone::kLease; };
      EXPECT_TRUE(apart || (!(works(a) && works(b)) && (Within(a, b) || Within(b, a)))) << ZoneName(a.zone) << " " << ZoneName(b.zone);
    }
  }
  const auto expect_resource = [&](Zone zone, Resource resource) {
    for (const TimelineEvent& event : OfZone(events, zone)) EXPECT_EQ(event.resource, resource) << ZoneName(zone);
  };
  expect_resource(Zone::kGraphRun, Resource::kCpu);
  expect_resource(Zone::kLease, Resource::kMemory);
  expect_resource(Zone::kPass, Resource::kCpu);
  expect_resource(Zone::kSample, Resource::kCpu);
}

// As a trace viewer reads it: complete events on a track for the CPU and one for memory, where all weights are.
TEST(Trace, AViewerCanOpenTheTrace) {
  Timeline timeline({});
  RunTraced(&timeline);
  const JsonValue trace = Must(JsonValue::Parse(TraceJson(timeline), "trace"));
  const JsonValue events = Must(trace.Array("traceEvents"));
  std::map<std::string, int> names;
  std::set<std::string> tracks;
  for (int64_t i = 0; i < events.size(); ++i) {
    if (Must(events[i].String("name")) == "thread_name") tracks.insert(Must(Must(events[i].Object("args")).String("name")));
    if (Must(events[i].String("ph")) != "X") continue;
    ++names[Must(events[i].String("name"))];
    EXPECT_GE(Must(events[i].Double("ts")), 0);
    EXPECT_GE(Must(events[i].Double("dur")), 0);
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"graph_run", 29}, {"head", 5}, {"lease", 28}, {"load", 1}, {"pass", 6}, {"sample", 5}}));
  EXPECT_EQ(tracks, (std::set<std::string>{"cpu", "memory"}));
}

// Recording changes no token, and without a timeline nothing is recorded or read.
TEST(Trace, RecordingChangesNothing) {
  class CountingClock : public Clock {
   public:
    int64_t NowNanos() const override { return ++reads; }
    mutable int64_t reads = 0;
  };
  CountingClock clock;
  Timeline timeline({.capacity = 1 << 12, .clock = &clock});
  const Generation with = RunTraced(&timeline);
  const int64_t reads = clock.reads;
  EXPECT_EQ(reads, 2 * static_cast<int64_t>(timeline.Events().size()));
  const Generation without = RunTraced(nullptr);
  EXPECT_EQ(clock.reads, reads);
  EXPECT_EQ(without.tokens, with.tokens);
}

TEST(Trace, AFullTimelineCountsTheDroppedEvents) {
  Timeline timeline({.capacity = 10});
  RunTraced(&timeline);
  EXPECT_EQ(timeline.Events().size(), 10u);
  EXPECT_EQ(timeline.dropped(), 29 + 28 + 5 + 5 + 6 + 1 - 10);
}

}  // namespace
}  // namespace tessera
