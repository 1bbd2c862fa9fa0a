#include "tessera/base/timeline.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
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
    case Resource::kMemory: return "memory";
  }
  return "unknown";
}

struct Timeline::Works {
  using Key = std::tuple<std::string, std::string, int, int64_t, int64_t>;
  std::mutex mutex;
  absl::flat_hash_map<Key, int32_t> ids;
  std::deque<TimelineWork> works = {{}};   // By number.
};

Timeline::Timeline(const Options& options) : clock_(&GivenOrRealClock(options.clock)), works_(std::make_unique<Works>()) {
  CHECK_GT(options.capacity, 0);
  events_.resize(options.capacity);
}

Timeline::~Timeline() = default;

int32_t Timeline::WorkId(const TimelineWork& work) {
  const std::lock_guard<std::mutex> lock(works_->mutex);
  const int32_t next = static_cast<int32_t>(works_->works.size());
  Works::Key key(work.name, work.bound, work.layer, work.rows, work.bytes);
  if (const auto known = works_->ids.find(key); known != works_->ids.end()) return known->second;
  if (works_->works.size() > events_.size()) return 0;
  works_->works.push_back(work);
  works_->ids.emplace(std::move(key), next);
  return next;
}

const TimelineWork& Timeline::WorkOf(const TimelineEvent& event) const { return works_->works[static_cast<size_t>(event.work)]; }

int64_t Timeline::Now() const { return clock_->NowNanos(); }

void Timeline::Record(const TimelineEvent& event) {
  // The counter hands each place to one thread. The counter orders nothing else: a reader of the events has already waited for the
  // recording threads, so relaxed is enough.
  const int64_t place = next_.fetch_add(1, std::memory_order_relaxed);
  if (place >= static_cast<int64_t>(events_.size())) return;
  events_[place] = event;
  events_[place].end_ns = std::max(event.begin_ns, event.end_ns);   // A clock that was given in may have been set back.
}

std::vector<TimelineEvent> Timeline::Events() const {
  const int64_t kept = std::min(next_.load(std::memory_order_relaxed), static_cast<int64_t>(events_.size()));
  return {events_.begin(), events_.begin() + kept};
}

int64_t Timeline::dropped() const {
  return std::max<int64_t>(0, next_.load(std::memory_order_relaxed) - static_cast<int64_t>(events_.size()));
}

}  // namespace tessera
