// Plans the loaded graphs of a model on a device that cannot hold all graphs, and selects the graph to unload when another needs room.
//
//   ResidencyPlan plan = PlanResidency(costs, device.limits());    // costs[block][variant], in the order in which a pass needs blocks
//   RETURN_IF_ERROR(store.Carry(plan));                            // npu/graph_store.h, which alone loads and unloads
//   int gone = NeededLast(loaded, /*next_block=*/3);               // its index in `loaded`
//
// A model is a list of blocks. A pass needs the blocks in order, and then again from the first block. A block may be compiled for several
// row capacities; each compiled graph is a variant of the block.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/npu/device.h"

namespace tessera {

// One graph of a model.
struct GraphId {
  int block = 0;
  int variant = 0;   // Index of the row capacity, in ascending order.
  friend bool operator==(const GraphId& a, const GraphId& b) = default;
};

struct ResidencyPlan {
  std::vector<GraphId> resident = {};   // Loaded at the start, in this order.
  GraphLimits limits = {};              // Limits on all loaded graphs. Graphs outside `resident` are loaded on demand.
};

// Plans all graphs as resident if they fit; else the graphs that fit, from the first block on, smallest variant first. A graph that is
// larger than the limits is never resident. costs: one entry per variant of each block.
ResidencyPlan PlanResidency(absl::Span<const std::vector<LoadCost>> costs, const GraphLimits& limits);

// A loaded graph. stale: the block has run with another variant since.
struct ResidentGraph { GraphId id; bool stale = false; };

// Returns the index of the graph that a pass at `next_block` needs last. That is a stale graph, or else the graph whose block comes last
// from `next_block` on. REQUIRES: `loaded` is not empty.
int NeededLast(absl::Span<const ResidentGraph> loaded, int next_block);

}  // namespace tessera
