#include "tessera/runtime/session/tree_logits.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/status_macros.h"
#include "tessera/base/thread_pool.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {

TreeLogits::TreeLogits(Session& session, int vocabulary, const Clock& clock)
    : session_(session), clock_(CoreOf(session).model().timed_streamer(), clock), vocabulary_(vocabulary) {}

void TreeLogits::Begin(int nodes, const LogitsPlan& plan) {
  plan_ = plan;
  plan_.first_rows = std::clamp(plan.first_rows, 1, std::min(nodes, LogitsPlan::kMostFirst));
  has_first_ = false;
  last_ = {};
  top_.assign(nodes, {});
  time_ = {};
}

absl::StatusOr<absl::Span<const float>> TreeLogits::Of(int node) {
  if (!has_first_) RETURN_IF_ERROR(ComputeFirst());
  if (node >= plan_.first_rows) RETURN_IF_ERROR(ComputeOne(node));
  last_ = Row(std::min(node, plan_.first_rows));
  return last_;
}

absl::Status TreeLogits::ComputeFirst() {
  std::vector<int> nodes(plan_.first_rows);
  std::iota(nodes.begin(), nodes.end(), 0);
  RETURN_IF_ERROR(Compute(nodes, 0, time_.first_seconds));
  time_.first_rows = plan_.first_rows;
  has_first_ = true;
  return absl::OkStatus();
}

absl::Status TreeLogits::ComputeOne(int node) {
  RETURN_IF_ERROR(Compute({node}, plan_.first_rows, time_.later_seconds));
  time_.later_rows += 1;
  return absl::OkStatus();
}

absl::Status TreeLogits::Compute(absl::Span<const int> nodes, int place, double& seconds) {
  const double begin = clock_.Seconds();
  const int64_t rows = static_cast<int64_t>(nodes.size());
  const size_t needed = static_cast<size_t>(place + rows) * vocabulary_;
  if (buffer_.size() < needed) buffer_.resize(needed);
  RETURN_IF_ERROR(session_.TreeLogits(
      nodes, TensorView<float>(buffer_.data() + static_cast<size_t>(place) * vocabulary_, rows, vocabulary_)));
  seconds += clock_.SecondsSince(begin);
  if (plan_.top == 0) return absl::OkStatus();
  const double top_begin = clock_.Seconds();
  EngineCore& core = CoreOf(session_);
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());  // Threads of a pool do one thing at a time.
  ThreadPool& pool = core.pool();
  pool.Run([&](int worker) {
    const Share share = ShareOf(rows, worker, pool.threads());
    for (int64_t i = share.begin; i < share.end; ++i) top_[nodes[i]] = TopTokensOf(Row(place + static_cast<int>(i)), plan_.top);
  });
  time_.top_rows += static_cast<int>(rows);
  time_.top_seconds += clock_.SecondsSince(top_begin);
  return absl::OkStatus();
}

}  // namespace tessera
