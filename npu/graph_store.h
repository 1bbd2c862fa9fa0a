// Holds a model's graphs, and alone loads and unloads them: what a plan says is loaded, anything else when it is needed.
//
//   GraphStore store(device, {{head_of_1_row, head_of_64_rows}, {norm}});        // of each block, its graphs by row capacity
//   RETURN_IF_ERROR(store.Carry(PlanResidency(store.Costs(), device.limits())));
//   RETURN_IF_ERROR(store.Run({.block = 0, .rows = rows}, arguments, /*next=*/{.block = 1, .rows = rows}));
//
// A block is run by its smallest graph that has so many rows. While the device computes, the graph that is needed next is loaded if it was
// not, so that a device that holds few graphs loads one while another runs.
// Blocks are numbered in the order in which a pass needs them; the device is told for which block it loads a graph (Device::LoadBlock).
// Where a graph has no room, the one that a pass needs last goes (NeededLast), but never the one that For gave last, which may be running.
// Threads: those of the device.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/device.h"
#include "tessera/npu/graph_schedule.h"

namespace tessera {

// One block compiled for one or several row capacities, in ascending order. Blocks that are alike may share graphs.
using BlockVariants = std::vector<std::shared_ptr<const CompiledGraph>>;

// A block, and the rows that its graph must have at least.
struct GraphNeed { int block = kNone; int rows = 0; };

class GraphStore {
 public:
  // Loads nothing. The device must outlive the store. REQUIRES: no block is without a graph.
  GraphStore(Device& device, std::vector<BlockVariants> blocks);
  const Device& device() const { return device_; }

  // What loading each variant of each block costs, for PlanResidency.
  std::vector<std::vector<LoadCost>> Costs() const;

  // Unloads what the plan does not have, and loads what it has. The first error of the device: what is loaded then is within the
  // plan's limits. REQUIRES: no run is under way.
  absl::Status Carry(const ResidencyPlan& plan);

  // The block's smallest graph of at least so many rows, loaded if it was not. Valid until the next For or Carry. InvalidArgument (rows
  // found, expected) if none has so many; ResourceExhausted (bytes found, expected) if it alone is more than the plan's limits; the
  // device's error if it cannot be loaded. REQUIRES: 0 <= block < blocks, and no run is under way.
  absl::StatusOr<LoadedGraph*> For(int block, int rows);

  // Loads what For would give, if it was not, and unloads the block's other graphs before: of a block that has never more than one graph.
  // Errors are those of For; then the block has no graph. REQUIRES: no run is under way.
  absl::Status Switch(int block, int rows);
  // The graph that the block was asked for last is loaded, and a run of it would not wait.
  bool IsReady(int block) const;
  // What is loaded from now on is no part of a load before it (Device::SplitLoads).
  void SplitLoads() { device_.SplitLoads(); }
  // False: Run loads nothing ahead, so that only Switch, and what For cannot do without, decides what is loaded.
  void SetLoadsAhead(bool ahead) { loads_ahead_ = ahead; }

  // Runs the block's graph, and meanwhile loads what For would give of `next` (of no block: nothing is loaded), if there is room beside
  // the graph that runs. If that cannot be loaded, this run is none the worse: For tries again when the graph is needed, and gives the
  // error if it still cannot be. Errors are those of For and the run. REQUIRES: arguments.rows <= graph.rows.
  absl::Status Run(GraphNeed graph, const RunArguments& arguments, GraphNeed next = {});

 private:
  struct Variant {
    std::shared_ptr<const CompiledGraph> compiled;
    std::unique_ptr<LoadedGraph> loaded;
    int64_t bytes = 0;
    int rows = 0;   // Its row capacity, which each pass asks for: here it needs no line of the graph's memory.
  };
  struct Block { std::vector<Variant> variants; int wanted = kNone; };   // The variant that was asked for last.

  // Index of the smallest variant of so many rows, or kNone.
  int VariantFor(int block, int rows) const;
  // Where it fails for want of room, all is as before; where the device fails, only what had to make room is gone.
  void LoadAhead(GraphNeed next);
  // Makes room for it within the limits, and loads it.
  absl::Status Load(GraphId id);
  void Unload(Variant& variant);
  Variant& At(GraphId id) { return blocks_[static_cast<size_t>(id.block)].variants[static_cast<size_t>(id.variant)]; }
  // Those that are loaded, but for the one in use.
  std::vector<ResidentGraph> Idle() const;

  Device& device_;
  std::vector<Block> blocks_;
  GraphLimits limits_;
  int graphs_ = 0;          // Loaded,
  int64_t bytes_ = 0;       // and their bytes.
  int all_graphs_ = 0;
  GraphId in_use_ = {kNone, kNone};   // What For gave last.
  bool loads_ahead_ = true;
};

}  // namespace tessera
