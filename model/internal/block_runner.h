// Runs the blocks of a compiled model, one after the other: leases a block's weights, and has its graph run over them.
//
//   const BlockRunner::Leased leased = blocks.Lease(block);                // its weights are given back where this ends
//   RETURN_IF_ERROR(leased.status());
//   RETURN_IF_ERROR(blocks.Run({block, rows}, /*detail=*/layer, arguments, /*next=*/{next_block, rows}));
//
// Weights are leased block by block: one Leased at a time. Each Lease and Run looks first whether it is cancelled. Threads: one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/model/compiled_model.h"
#include "tessera/npu/graph_store.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class BlockRunner {
 public:
  // All but the model must outlive it. A null timeline: nothing is recorded and no clock is read. Weights that the device's graphs hold
  // (Device::HoldsWeights) are not leased.
  BlockRunner(const CompiledModel& model, WeightSource& source, Device& device, Timeline* timeline);

  // Has the store load what the device can hold. Its errors.
  absl::Status LoadGraphs(const GraphLimits& limits) { return store_.Carry(PlanResidency(store_.Costs(), limits)); }

  // From the next block on.
  void SetSource(WeightSource& source) { source_ = &source; }
  void SetTimeline(Timeline* timeline) { timeline_ = timeline; }
  // True in either flag: Cancelled. Null: never.
  void SetCancel(const std::atomic<bool>* always, const std::atomic<bool>* now) { cancel_[0] = always, cancel_[1] = now; }
  absl::Status CheckCancelled() const;

  class Leased {
   public:
    Leased(const Leased&) = delete;
    ~Leased() { runner_.leases_.clear(); }
    const absl::Status& status() const { return status_; }

   private:
    friend class BlockRunner;
    Leased(BlockRunner& runner, absl::Status status) : runner_(runner), status_(std::move(status)) {}
    BlockRunner& runner_;
    const absl::Status status_;
  };
  // The units of a block: none where its graphs hold their weights. Errors are those of the source.
  Leased Lease(int block);

  // Adds the weights to the arguments, and runs. detail: of the timeline's event. REQUIRES: all units of graph.block are leased.
  absl::Status Run(GraphNeed graph, int detail, RunArguments& arguments, GraphNeed next);

  GraphStore& store() { return store_; }
  WeightSource& source() const { return *source_; }
  Timeline* timeline() const { return timeline_; }

 private:
  // Where a weight lies.
  struct Place { int unit; int64_t offset; int64_t bytes; };
  // Where a block begins in places_ and units_. It ends where the next one begins.
  struct Begins { uint32_t places, units; };

  absl::Status LeaseUnits(int block);

  // The model's blocks without what a run does not need, side by side: a layer's weights push all else out of the caches, so each line of
  // it comes from memory in each layer of each pass. As CompiledModel has them, that took 13 us per token of SmolLM2.
  std::vector<Begins> begins_;   // One more than blocks.
  std::vector<Place> places_;    // By graph weight.
  std::vector<int> units_;

  WeightSource* source_;
  Timeline* timeline_;
  GraphStore store_;
  const std::atomic<bool>* cancel_[2] = {nullptr, nullptr};
  // Kept between blocks to spare allocations.
  std::vector<WeightLease> leases_;   // In ascending order of units.
  std::vector<absl::Span<const std::byte>> weights_;
};

}  // namespace tessera
