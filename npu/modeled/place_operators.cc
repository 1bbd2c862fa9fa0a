#include "tessera/npu/modeled/place_operators.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tessera {

Resource ResourceOf(Bound bound) {
  switch (bound) {
    case Bound::kMatrix: return Resource::kNpu;
    case Bound::kVector: return Resource::kHvx;
    case Bound::kDma: return Resource::kDma;
    case Bound::kCpu:
    case Bound::kCall: return Resource::kCpu;
  }
  return Resource::kCpu;
}

int64_t NanosOf(double seconds) { return std::llround(seconds * 1e9); }

std::vector<std::string> OperatorLabels(const Graph& graph) {
  std::vector<std::string> labels;
  for (const Operator& op : graph.operators) labels.push_back(OperatorLabel(graph, op));
  return labels;
}

int64_t PlaceOperators(const GraphCost& cost, int64_t begin_ns, Timeline& timeline, const PlacedRun& run) {
  double seconds = 0;
  for (size_t i = 0; i < cost.operators.size(); ++i) {
    const OperatorCost& op = cost.operators[i];
    const int64_t from = begin_ns + NanosOf(seconds), to = begin_ns + NanosOf(seconds + op.seconds);
    int32_t work = 0;
    if (!run.labels.empty()) {
      work = timeline.WorkId({.name = run.labels[i], .bound = std::string(BoundName(op.bound)), .layer = run.layer, .rows = run.rows,
                              .bytes = op.read_bytes});
    }
    for (int part = 0; part < kBounds; ++part) {
      const Bound bound = static_cast<Bound>(part);
      if (op.busy[part] <= 0 || bound == Bound::kCall) continue;
      // Rounded by itself, a part that is busy all the time would end a nanosecond late now and then.
      const int64_t end = std::min(from + NanosOf(op.busy[part]), to);
      timeline.Record({Zone::kOperator, ResourceOf(bound), run.first + static_cast<int32_t>(i), from, end, work});
    }
    seconds += op.seconds;
  }
  return begin_ns + NanosOf(cost.seconds);
}

}  // namespace tessera
