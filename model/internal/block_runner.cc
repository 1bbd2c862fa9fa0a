#include "tessera/model/internal/block_runner.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status BlockRunner::CheckCancelled() const {
  for (const std::atomic<bool>* cancel : cancel_) {
    if (cancel != nullptr && *cancel) return absl::CancelledError("pass: cancelled");
  }
  return absl::OkStatus();
}

BlockRunner::Leased BlockRunner::Lease(int block) { return Leased(*this, LeaseUnits(block)); }

absl::Status BlockRunner::LeaseUnits(int block) {
  RETURN_IF_ERROR(CheckCancelled());
  for (int unit : model_.block(block).units) {
    TimelineScope scope(timeline_, Zone::kLease, unit, Resource::kFlash);
    ASSIGN_OR_RETURN(WeightLease lease, source_->Acquire(unit));
    leases_.push_back(std::move(lease));
  }
  return absl::OkStatus();
}

absl::Status BlockRunner::Run(GraphNeed graph, int detail, RunArguments& arguments, GraphNeed next) {
  RETURN_IF_ERROR(CheckCancelled());
  weights_.clear();
  for (const TensorPart& part : model_.block(graph.block).parts) {
    const auto lease = std::lower_bound(leases_.begin(), leases_.end(), part.unit,
                                        [](const WeightLease& l, int unit) { return l.unit() < unit; });
    weights_.push_back(lease->bytes().subspan(part.offset, part.bytes));
  }
  arguments.weights = weights_;
  TimelineScope scope(timeline_, Zone::kGraphRun, detail, Resource::kNpu);
  return store_.Run(graph, arguments, next);
}

}  // namespace tessera
