// Plans which graphs of a model are loaded on a device that may not hold all of them, and which goes when another is needed.
//
//   ResidencyPlan plan = PlanResidency(costs, device.limits());    // costs[block][variant], in the order in which a pass needs blocks
//   RETURN_IF_ERROR(store.Carry(plan));                            // npu/graph_store.h, which alone loads and unloads
//   int gone = NeededLast(loaded, /*next_block=*/3);               // its index in `loaded`
//
// A model is a list of blocks. A pass needs them in their order and then from the first again. A block may be compiled for several row
// capacities; each of those is a variant of its graph. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/npu/device.h"

namespace tessera {

// One graph of a model.
struct GraphId {
  int block = 0;
  int variant = 0;   // Which of the block's row capacities, in ascending order.
  friend bool operator==(const GraphId& a, const GraphId& b) = default;
};

struct ResidencyPlan {
  std::vector<GraphId> resident = {};   // Loaded at once, in this order.
  GraphLimits limits = {};              // All others are loaded when they are needed. So many at most at once.
};

// All graphs, if they fit; else what fits from the first block on, smallest variant first. A graph that is larger than the limits is
// never resident. costs: of each variant of each block.
ResidencyPlan PlanResidency(absl::Span<const std::vector<LoadCost>> costs, const GraphLimits& limits);

// A graph that is loaded. stale: its block has been run by another variant since.
struct ResidentGraph { GraphId id; bool stale = false; };

// Which one a pass that comes to `next_block` now needs last: a stale one, or else the one whose block comes last from there on.
// REQUIRES: `loaded` is not empty.
int NeededLast(absl::Span<const ResidentGraph> loaded, int next_block);

}  // namespace tessera
