// Runs the blocks of a compiled model, one after the other: leases a block's weights, and runs the block's graph with the weights.
//
//   const BlockRunner::Leased leased = blocks.Lease(block);                // its weights are given back where this ends
//   RETURN_IF_ERROR(leased.status());
//   RETURN_IF_ERROR(blocks.Run({block, rows}, /*detail=*/layer, arguments, /*next=*/{next_block, rows}));
//
// Weights are leased block by block: one Leased at a time. Each Lease and Run first checks for cancellation. Threads: one at a time.
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
  // All arguments except the model must outlive the runner. A null timeline: nothing is recorded and no clock is read. Weights that the
  // device's graphs hold (Device::HoldsWeights) are not leased.
  BlockRunner(const CompiledModel& model, WeightSource& source, Device& device, Timeline* timeline);

  // Loads into the store all graphs that the device can hold. Returns the store's errors.
  absl::Status LoadGraphs(const GraphLimits& limits) { return store_.Carry(PlanResidency(store_.Costs(), limits)); }

  // Sets the source from the next block on.
  void SetSource(WeightSource& source) { source_ = &source; }
  void SetTimeline(Timeline* timeline) { timeline_ = timeline; }
  // Sets the flags. True in either flag: Cancelled. Null: never.
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
  // Leases the units of a block: none if the block's graphs hold their weights. Errors: the errors of the source.
  Leased Lease(int block);

  // Adds the weights to the arguments, and runs the graph. detail: the detail of the timeline's event. REQUIRES: all units of graph.block
  // are leased.
  absl::Status Run(GraphNeed graph, int detail, RunArguments& arguments, GraphNeed next);

  GraphStore& store() { return store_; }
  WeightSource& source() const { return *source_; }
  Timeline* timeline() const { return timeline_; }

 private:
  // The place of a weight.
  struct Place { int unit; int64_t offset; int64_t bytes; };
  // The first entries of a block in places_ and units_. The block ends where the next block begins.
  struct Begins { uint32_t places, units; };

  absl::Status LeaseUnits(int block);

  // The model's blocks in compact form, with only the data that a run needs. A layer's weights push all other data out of the caches, so
  // each line of block data comes from memory in each layer of each pass. With the blocks in the form of CompiledModel, this took 13 us per
  // token of SmolLM2.
  std::vector<Begins> begins_;   // One more than blocks.
  std::vector<Place> places_;    // By graph weight.
  std::vector<int> units_;

  WeightSource* source_;
  Timeline* timeline_;
  GraphStore store_;
  const std::atomic<bool>* cancel_[2] = {nullptr, nullptr};
  // Kept between blocks to avoid allocations.
  std::vector<WeightLease> leases_;   // In ascending order of units.
  std::vector<absl::Span<const std::byte>> weights_;
};

}  // namespace tessera
