#include "tessera/npu/graph_schedule.h"

#include <algorithm>
#include <tuple>

namespace tessera {

ResidencyPlan PlanResidency(absl::Span<const std::vector<LoadCost>> costs, const GraphLimits& limits) {
  ResidencyPlan plan = {.resident = {}, .limits = limits};
  int64_t bytes_left = limits.bytes;
  for (size_t block = 0; block < costs.size(); ++block) {
    for (size_t variant = 0; variant < costs[block].size(); ++variant) {
      const int64_t bytes = costs[block][variant].bytes;
      if (static_cast<int64_t>(plan.resident.size()) >= limits.graphs || bytes > bytes_left) continue;
      plan.resident.push_back({static_cast<int>(block), static_cast<int>(variant)});
      bytes_left -= bytes;
    }
  }
  return plan;
}

int NeededLast(absl::Span<const ResidentGraph> loaded, int next_block) {
  const auto later = [next_block](const ResidentGraph& graph) {  // Blocks before the next one come in the next pass.
    return std::tuple(graph.stale, graph.id.block < next_block, graph.id.block, graph.id.variant);
  };
  const auto last = std::max_element(loaded.begin(), loaded.end(), [&](const auto& a, const auto& b) { return later(a) < later(b); });
  return static_cast<int>(last - loaded.begin());
}

}  // namespace tessera
