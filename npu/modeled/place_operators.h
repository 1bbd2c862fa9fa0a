// Places the work of a graph's operators on a timeline: one operator after the other, each on the parts that work for the operator.
//
//   ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, setting));
//   const std::vector<std::string> labels = OperatorLabels(graph);
//   const int64_t end_ns = PlaceOperators(cost, /*begin_ns=*/clock.NowNanos(), timeline, {.labels = labels, .layer = 3, .rows = 32});
//
// A part is busy from the begin of an operator on, as long as the operator keeps the part busy. An operator begins at the end of the
// previous operator, so no part has two jobs at once. The overhead of graphs and operators is on no part. ModeledDevice and reports both
// use PlaceOperators. Pure functions, except for writes to the timeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/graph.h"
#include "tessera/npu/modeled/operator_cost.h"

namespace tessera {

// Returns the timeline resource of a part; calls count as CPU.
Resource ResourceOf(Bound bound);

// Returns nanoseconds of a modeled device's virtual time. REQUIRES: at least 0, at most 9e9 seconds.
int64_t NanosOf(double seconds);

// Returns OperatorLabel of each operator of the graph.
std::vector<std::string> OperatorLabels(const Graph& graph);

// The run whose operators are placed, with the run's names in events.
struct PlacedRun {
  absl::Span<const std::string> labels = {};   // By operator. Empty: events have no TimelineWork.
  int layer = kNone;
  int64_t rows = 0;
  int32_t first = 0;                           // Added to an operator's index.
};

// Records events of Zone::kOperator. An event's detail is run.first plus the operator's index in the graph; the event's work has the
// operator's label, bytes and bound. Returns the end of the last operator: begin_ns plus the graph's seconds. The next graph may begin
// there.
int64_t PlaceOperators(const GraphCost& cost, int64_t begin_ns, Timeline& timeline, const PlacedRun& run = {});

}  // namespace tessera
