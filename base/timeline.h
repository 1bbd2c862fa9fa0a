// A record of events with resource and time: graph runs on the device, leases from storage, sampling on the CPU.
//
//   Timeline timeline({.capacity = 1 << 16});
//   { TimelineScope scope(&timeline, Zone::kGraphRun, /*detail=*/layer); device.Run(...); }   // one event
//   RETURN_IF_ERROR(WriteTrace(timeline, "trace.json"));                                      // base/trace_writer.h
//
// A null pointer turns recording off: a scope then reads no clock and costs one branch. With recording, an event costs two clock reads and
// one store into a bounded ring. Events that do not fit are counted; recording never blocks.
//
// Threads: call Record from any threads at once; read the events when no thread records.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/clock.h"

namespace tessera {

// Every traced zone of the engine, in one place, so that trace, report and energy account agree (names: ZoneName). The hot loops inside a
// graph run are not zones: a clock read per operator would cost more than 1 % of a one-row pass.
//
// kDraft: work of a draft model or head, with the number of rows. kPrune: a pass stops half-way to prune drafts, with the number of pruned
// rows. kPredict: an exit predictor within kPrune, with the number of examined nodes. kCommit: the kept part of a draft, with the number of
// tokens.
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
  int32_t detail;        // Depends on the zone: a layer, a unit, a number of rows.
  int64_t begin_ns;      // On the timeline's clock.
  int64_t end_ns;
  int32_t work = 0;      // Timeline::WorkId; 0: no details.
};

// Details of an event's work, for readers of a trace.
struct TimelineWork {
  std::string name = {};    // Shown in place of the zone: "ffn_up.weight".
  std::string bound = {};   // The part that bounds the time: "dma".
  int layer = -1;           // Below 0: no layer.
  int64_t rows = 0;
  int64_t bytes = 0;        // Bytes read.
};

class Timeline {
 public:
  struct Options {
    int64_t capacity = 1 << 16;      // Events kept; later events are counted as dropped. REQUIRES: > 0.
    const Clock* clock = nullptr;    // Null: the real, monotonic clock. Must outlive the timeline.
  };
  explicit Timeline(const Options& options);
  ~Timeline();

  int64_t Now() const;
  void Record(const TimelineEvent& event);   // Lock-free.
  // Returns the number for TimelineEvent::work; equal works have equal numbers. Returns 0 for new works once there are as many works as
  // `capacity`. Takes a lock.
  int32_t WorkId(const TimelineWork& work);

  std::vector<TimelineEvent> Events() const;  // In order of recording.
  const TimelineWork& WorkOf(const TimelineEvent& event) const;   // Has no name if the event has no work.
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
  void SetDetail(int32_t detail) { event_.detail = detail; }   // For a detail that is known only later.
  void SetResource(Resource resource) { event_.resource = resource; }   // For a resource that is known only later.

  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Timeline* timeline_;
  TimelineEvent event_;
};

}  // namespace tessera
