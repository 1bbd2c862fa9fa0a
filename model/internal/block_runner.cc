#include "tessera/model/internal/block_runner.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"

namespace tessera {

BlockRunner::BlockRunner(const CompiledModel& model, WeightSource& source, Device& device, Timeline* timeline)
    : source_(&source), timeline_(timeline), store_(device, model.variants()) {
  const auto begin = [&] { begins_.push_back({static_cast<uint32_t>(places_.size()), static_cast<uint32_t>(units_.size())}); };
  for (int i = 0; i < static_cast<int>(model.variants().size()); ++i) {
    const CompiledModel::Block& block = model.block(i);
    begin();
    if (device.HoldsWeights(i)) continue;
    for (const TensorPart& part : block.parts) places_.push_back({part.unit, part.offset, part.bytes});
    units_.insert(units_.end(), block.units.begin(), block.units.end());
  }
  begin();
}

absl::Status BlockRunner::CheckCancelled() const {
  for (const std::atomic<bool>* cancel : cancel_) {
    if (cancel != nullptr && *cancel) return absl::CancelledError("pass: cancelled");
  }
  return absl::OkStatus();
}

BlockRunner::Leased BlockRunner::Lease(int block) { return Leased(*this, LeaseUnits(block)); }

absl::Status BlockRunner::LeaseUnits(int block) {
  RETURN_IF_ERROR(CheckCancelled());
  const Begins* const begins = &begins_[static_cast<size_t>(block)];
  for (uint32_t i = begins[0].units; i < begins[1].units; ++i) {
    const int unit = units_[i];
    TimelineScope scope(timeline_, Zone::kLease, unit, Resource::kFlash);
    ASSIGN_OR_RETURN(WeightLease lease, source_->Acquire(unit));
    if (lease.pinned()) scope.SetResource(Resource::kMemory);
    leases_.push_back(std::move(lease));
  }
  return absl::OkStatus();
}

absl::Status BlockRunner::Run(GraphNeed graph, int detail, RunArguments& arguments, GraphNeed next) {
  RETURN_IF_ERROR(CheckCancelled());
  weights_.clear();
  const Begins* const begins = &begins_[static_cast<size_t>(graph.block)];
  for (uint32_t i = begins[0].places; i < begins[1].places; ++i) {
    const auto& [unit, offset, bytes] = places_[i];
    const auto lease = std::lower_bound(leases_.begin(), leases_.end(), unit, [](const WeightLease& l, int u) { return l.unit() < u; });
    weights_.push_back(lease->bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)));
  }
  arguments.weights = weights_;
  arguments.layer = detail;
  TimelineScope scope(timeline_, Zone::kGraphRun, detail, store_.device().resource());
  return store_.Run(graph, arguments, next);
}

}  // namespace tessera
