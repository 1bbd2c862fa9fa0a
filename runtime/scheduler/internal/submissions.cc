#include "tessera/runtime/scheduler/internal/submissions.h"

#include <algorithm>
#include <utility>

namespace tessera {

StreamId Submissions::Add(StreamOptions options, std::optional<StreamId> fork_of) {
  const std::lock_guard<std::mutex> lock(mutex_);
  new_.submitted.push_back({next_, std::move(options), fork_of});
  return next_++;
}

void Submissions::Cancel(StreamId stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  new_.cancelled.insert(stream);
  StopPassIfAllCancelled();
}

Submissions::Taken Submissions::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(new_, {});
}

void Submissions::BeginPass(std::vector<StreamId> streams) {
  const std::lock_guard<std::mutex> lock(mutex_);
  in_pass_ = std::move(streams);
  pass_cancel_ = false;
  StopPassIfAllCancelled();
}

void Submissions::StopPassIfAllCancelled() {
  const bool all = std::all_of(in_pass_.begin(), in_pass_.end(), [this](StreamId id) { return new_.cancelled.contains(id); });
  if (!in_pass_.empty() && all) pass_cancel_ = true;
}

}  // namespace tessera
