// Where the work of a graph's operators lies on a timeline: one operator after the other, each on the parts that work for it.
//
//   ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, setting));
//   const std::vector<std::string> labels = OperatorLabels(graph);
//   const int64_t end_ns = PlaceOperators(cost, /*begin_ns=*/clock.NowNanos(), timeline, {.labels = labels, .layer = 3, .rows = 32});
//
// A part is busy from the begin of its operator on, as long as the operator keeps it busy. An operator begins when the one before it is
// over, so no part has two jobs at once; what graphs and operators take beside their work is on no part. ModeledDevice and reports both
// place by it. Pure, but for the timeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/graph.h"
#include "tessera/npu/modeled/operator_cost.h"

namespace tessera {

// What a part is on a timeline; what a call takes is the CPU's.
Resource ResourceOf(Bound bound);

// Virtual time of a modeled device. REQUIRES: at least 0, at most 9e9 seconds.
int64_t NanosOf(double seconds);

// OperatorLabel of each of the graph's operators.
std::vector<std::string> OperatorLabels(const Graph& graph);

// The run whose operators are placed, as its events name it.
struct PlacedRun {
  absl::Span<const std::string> labels = {};   // By operator. Empty: events have no TimelineWork.
  int layer = kNone;
  int64_t rows = 0;
  int32_t first = 0;                           // Added to an operator's index.
};

// Records events of Zone::kOperator, whose detail is run.first plus the operator's index in the graph; their work has the operator's label,
// bytes and bound. Returns the end of the last operator: begin_ns plus what the graph takes, which is where the next graph may begin.
int64_t PlaceOperators(const GraphCost& cost, int64_t begin_ns, Timeline& timeline, const PlacedRun& run = {});

}  // namespace tessera
