// A record of what ran when, on which resource: graph runs on the device, leases from storage, sampling on the CPU.
//
//   Timeline timeline({.capacity = 1 << 16});
//   { TimelineScope scope(&timeline, Zone::kGraphRun, /*detail=*/layer); device.Run(...); }   // one event
//   RETURN_IF_ERROR(WriteTrace(timeline, "trace.json"));                                      // base/trace_writer.h
//
// Off is a null pointer: then a scope reads no clock and costs one branch. On, an event costs two clock reads and one store
// into a bounded ring; events that do not fit are counted, never blocked on. Threads: Record from any thread at once;
// read the events when nothing records.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/clock.h"

namespace tessera {

// Every traced zone of the engine, in one place so that trace, report and energy account agree (names: ZoneName).
// The hot loops inside a graph run are not zones: a clock read per operator would cost more than 1 % of a one-row pass.
// kDraft: a draft model or head at work, with its rows; kPrune: a pass stops half-way for drafts to be pruned, with the rows that go;
// kPredict: an exit predictor within that, with the nodes that it looks at; kCommit: what is kept of a draft, with its tokens.
enum class Zone : uint8_t {
  kPass, kLease, kGraphRun, kHead, kSample, kTokenize, kDetokenize, kLoad, kRead, kOperator, kDraft, kPredict, kPrune,
  kCommit
};
// kNpu: a phone's matrix unit; kHvx: a phone's vector unit; kMemory: weights that stay in this machine's memory.
enum class Resource : uint8_t { kCpu, kNpu, kFlash, kDma, kHvx, kMemory };

absl::string_view ZoneName(Zone zone);
absl::string_view ResourceName(Resource resource);

struct TimelineEvent {
  Zone zone;
  Resource resource;
  int32_t detail;        // Its meaning depends on the zone: a layer, a unit, a number of rows.
  int64_t begin_ns;      // On the timeline's clock.
  int64_t end_ns;
  int32_t work = 0;      // Timeline::WorkId; 0: the zone says all.
};

// What an event worked on, for those who look at a trace.
struct TimelineWork {
  std::string name = {};    // Stands in the zone's place: "ffn_up.weight".
  std::string bound = {};   // What bounds the time: "dma".
  int layer = -1;           // Below 0: of no layer.
  int64_t rows = 0;
  int64_t bytes = 0;        // Read.
};

class Timeline {
 public:
  struct Options {
    int64_t capacity = 1 << 16;      // Events kept; later ones are counted as dropped. REQUIRES: > 0.
    const Clock* clock = nullptr;    // Null: the real, monotonic clock. Must outlive the timeline.
  };
  explicit Timeline(const Options& options);
  ~Timeline();

  int64_t Now() const;
  void Record(const TimelineEvent& event);   // Lock-free.
  // The number for TimelineEvent::work, the same for equal works. 0 once there are as many as events that are kept. Takes a lock.
  int32_t WorkId(const TimelineWork& work);

  std::vector<TimelineEvent> Events() const;  // In order of recording.
  const TimelineWork& WorkOf(const TimelineEvent& event) const;   // One without a name: the event has none.
  int64_t dropped() const;

 private:
  struct Works;
  const Clock* clock_;
  std::vector<TimelineEvent> events_;
  std::atomic<int64_t> next_{0};
  const std::unique_ptr<Works> works_;
};

// Records one event from construction to destruction. A null timeline records nothing and reads no clock.
class TimelineScope {
 public:
  TimelineScope(Timeline* timeline, Zone zone, int32_t detail, Resource resource = Resource::kCpu)
      : timeline_(timeline), event_{zone, resource, detail, timeline == nullptr ? 0 : timeline->Now(), 0} {}
  ~TimelineScope() {
    if (timeline_ == nullptr) return;
    event_.end_ns = timeline_->Now();
    timeline_->Record(event_);
  }
  void SetDetail(int32_t detail) { event_.detail = detail; }   // Where it is only known later;
  void SetResource(Resource resource) { event_.resource = resource; }   // and so this.

  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Timeline* timeline_;
  TimelineEvent event_;
};

}  // namespace tessera
