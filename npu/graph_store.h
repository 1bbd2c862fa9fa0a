// Owns a model's graphs, and alone loads and unloads graphs: the graphs of a plan first, all other graphs on demand.
//
//   GraphStore store(device, {{head_of_1_row, head_of_64_rows}, {norm}});        // of each block, its graphs by row capacity
//   RETURN_IF_ERROR(store.Carry(PlanResidency(store.Costs(), device.limits())));
//   RETURN_IF_ERROR(store.Run({.block = 0, .rows = rows}, arguments, /*next=*/{.block = 1, .rows = rows}));
//
// A block runs with its smallest graph of enough rows. While the device computes, the store loads the graph that is needed next, if that
// graph is not loaded. So a device that holds few graphs loads one graph during the run of another. Blocks are numbered in the order of a
// pass. The store tells the device the block of each loaded graph (Device::LoadBlock). To make room, the store unloads the graph that a
// pass needs last (NeededLast). The graph that For returned last stays, because the graph may be running.
//
// Threads: as Device.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/device.h"
#include "tessera/npu/graph_schedule.h"

namespace tessera {

// One block compiled for one or several row capacities, in ascending order. Equal blocks may share graphs.
using BlockVariants = std::vector<std::shared_ptr<const CompiledGraph>>;

// A block, and the minimum rows of the block's graph.
struct GraphNeed { int block = kNone; int rows = 0; };

class GraphStore {
 public:
  // Loads nothing. The device must outlive the store. REQUIRES: every block has at least one graph.
  GraphStore(Device& device, std::vector<BlockVariants> blocks);
  const Device& device() const { return device_; }

  // Returns the cost of loading each variant of each block, for PlanResidency.
  std::vector<std::vector<LoadCost>> Costs() const;

  // Unloads the graphs outside the plan and loads the resident graphs of the plan. Returns the first error of the device; the graphs that
  // are then loaded stay within the plan's limits. REQUIRES: no run is in progress.
  absl::Status Carry(const ResidencyPlan& plan);

  // Returns the block's smallest graph of at least `rows` rows; loads the graph if necessary. Valid until the next For or Carry.
  //
  // Errors: InvalidArgument (rows found, expected) if no graph has enough rows. ResourceExhausted (bytes found, expected) if this graph
  // alone exceeds the plan's limits. The device's error if the load fails. REQUIRES: 0 <= block < blocks, and no run is in progress.
  absl::StatusOr<LoadedGraph*> For(int block, int rows);

  // Unloads the block's other graphs, then loads the graph that For would return, if necessary. For blocks that have at most one loaded
  // graph. Errors: as For; after an error the block has no loaded graph. REQUIRES: no run is in progress.
  absl::Status Switch(int block, int rows);
  // Returns true if the block's most recently requested graph is loaded and a run would not wait.
  bool IsReady(int block) const;
  // Begins a new load: graphs loaded from now on do not share a load with earlier graphs (Device::SplitLoads).
  void SplitLoads() { device_.SplitLoads(); }
  // False: Run loads nothing ahead. Only Switch loads graphs then, and For if a graph is missing.
  void SetLoadsAhead(bool ahead) { loads_ahead_ = ahead; }

  // Runs the block's graph. Meanwhile loads the graph that For would return for `next`, if there is room next to the running graph. A
  // `next` without a block loads nothing. A failed load ahead does not affect this run. For tries again when the graph is needed, and
  // returns the error if the load fails again. Errors: as For and the run. REQUIRES: arguments.rows <= graph.rows.
  absl::Status Run(GraphNeed graph, const RunArguments& arguments, GraphNeed next = {});

 private:
  struct Variant {
    std::shared_ptr<const CompiledGraph> compiled;
    std::unique_ptr<LoadedGraph> loaded;
    int64_t bytes = 0;
    int rows = 0;   // Copy of the graph's row capacity. Each pass reads `rows`; the copy saves access to the graph's memory.
  };
  struct Block { std::vector<Variant> variants; int wanted = kNone; };   // wanted: the variant that was requested last.

  // Index of the smallest variant with at least `rows` rows, or kNone.
  int VariantFor(int block, int rows) const;
  // Loads the graph of `next` if there is room. Without room, nothing changes. If the device fails, only the graphs unloaded to make room
  // are gone.
  void LoadAhead(GraphNeed next);
  // Makes room for the graph within the limits, then loads the graph.
  absl::Status Load(GraphId id);
  void Unload(Variant& variant);
  Variant& At(GraphId id) { return blocks_[static_cast<size_t>(id.block)].variants[static_cast<size_t>(id.variant)]; }
  // The loaded graphs, except the graph in use.
  std::vector<ResidentGraph> Idle() const;

  Device& device_;
  std::vector<Block> blocks_;
  GraphLimits limits_;
  int graphs_ = 0;          // Number of loaded graphs.
  int64_t bytes_ = 0;       // Bytes of the loaded graphs.
  int all_graphs_ = 0;
  GraphId in_use_ = {kNone, kNone};   // The graph that For returned last.
  bool loads_ahead_ = true;
};

}  // namespace tessera
