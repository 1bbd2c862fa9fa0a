#include "tessera/base/timeline.h"

#include <algorithm>

#include "glog/logging.h"

namespace tessera {

absl::string_view ZoneName(Zone zone) {
  switch (zone) {
    case Zone::kPass: return "pass";
    case Zone::kLease: return "lease";
    case Zone::kGraphRun: return "graph_run";
    case Zone::kHead: return "head";
    case Zone::kSample: return "sample";
    case Zone::kTokenize: return "tokenize";
    case Zone::kDetokenize: return "detokenize";
    case Zone::kLoad: return "load";
    case Zone::kRead: return "read";
    case Zone::kOperator: return "operator";
    case Zone::kDraft: return "draft";
    case Zone::kPredict: return "predict";
    case Zone::kPrune: return "prune";
    case Zone::kCommit: return "commit";
  }
  return "unknown";
}

absl::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kCpu: return "cpu";
    case Resource::kNpu: return "npu";
    case Resource::kFlash: return "flash";
    case Resource::kDma: return "dma";
    case Resource::kHvx: return "hvx";
  }
  return "unknown";
}

Timeline::Timeline(const Options& options) : clock_(&GivenOrRealClock(options.clock)) {
  CHECK_GT(options.capacity, 0);
  events_.resize(options.capacity);
}

int64_t Timeline::Now() const { return clock_->NowNanos(); }

void Timeline::Record(const TimelineEvent& event) {
  // The counter hands each place to one thread. It orders nothing else: a reader of the events has already waited for the threads that
  // record, so relaxed is enough.
  const int64_t place = next_.fetch_add(1, std::memory_order_relaxed);
  if (place < static_cast<int64_t>(events_.size())) events_[place] = event;
}

std::vector<TimelineEvent> Timeline::Events() const {
  const int64_t kept = std::min(next_.load(std::memory_order_relaxed), static_cast<int64_t>(events_.size()));
  return {events_.begin(), events_.begin() + kept};
}

int64_t Timeline::dropped() const {
  return std::max<int64_t>(0, next_.load(std::memory_order_relaxed) - static_cast<int64_t>(events_.size()));
}

}  // namespace tessera
