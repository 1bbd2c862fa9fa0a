// What a phone's NPU takes for each operator of a graph, by its profile: seconds, what bounds them, and how long each part is busy.
//
//   const CostSetting setting = {.profile = profile, .style = style, .rows = 32, .positions = 1024};
//   ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(compiled.graph, setting));
//   Print(cost.seconds, BoundName(cost.bound), cost.read_bytes);
//
// The model, in short (docs/npu.md): an operator takes as long as the slowest of what can go on side by side. By mailbox, products with
// tiles run the schedule of tile_plan.h, attention the blocks of Algorithm 1 (paper 001); in static graphs, reading overlaps with
// computing, and rows and context are those that the graph was compiled for. A static graph that was not transformed (Graph::form) has
// more operators, and writes numbers once more than it must; these cost what rows cost. Shapes alone count, not numbers. Parameters are
// the profile's. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/npu/device_profile.h"
#include "tessera/npu/graph.h"
#include "tessera/npu/modeled/execution_style.h"

namespace tessera {

enum class Bound : uint8_t { kMatrix, kVector, kDma, kCpu, kCall };
inline constexpr int kBounds = 5;
absl::string_view BoundName(Bound bound);   // "matrix", "vector", "dma", "cpu", "call".

// For ablations: how weights in tiles lie, and so what it takes to make FP16 of them (paper 001, section 7.4).
enum class WeightArrangement : uint8_t { kSuperGroups, kTileGroups, kScattered, kNotDequantized };

// How 2^x is found (paper 001, section 7.4).
enum class ModeledExp : uint8_t { kTable, kHalfPolynomial, kFloatPolynomial };

struct CostSetting {
  const DeviceProfile& profile;
  ExecutionStyle style = {};
  int64_t rows = 1;        // By mailbox: this run's. A static graph: those that it was compiled for.
  int64_t positions = 1;   // That each row attends to; its context, where SeesWholeContext(style).
  int64_t plain_rows = -1; // Rows of products of the CPU, which has no static graphs. Below 0: `rows`.
  // Rows of attention where that is the CPU's. Below 0: `rows`: no source says whether it skips the empty rows of a static graph, and
  // predictions take it that it does not.
  int64_t attention_rows = -1;
  int adapter_rank = 0;    // That of adapters which are bound to each placeholder; 0: none.
  absl::Span<const int> adapter_ranks = {};   // By placeholder, where they differ. Empty: that one at each.
  bool masks_adapters = false;   // It is that of several tasks' adapters side by side, whose products are multiplied by a mask.
  WeightArrangement arrangement = WeightArrangement::kSuperGroups;
  ModeledExp exp = ModeledExp::kTable;
};

struct OperatorCost {
  double seconds = 0;
  Bound bound = Bound::kCall;
  double busy[kBounds] = {};     // Seconds of work of each part, kCall: overhead.
  int64_t read_bytes = 0;        // From DDR: weights, keys and values.
};

struct GraphCost {
  double seconds = 0;                          // The sum of its operators; no call of the graph.
  Bound bound = Bound::kCall;                  // What bounds most of it.
  double busy[kBounds] = {};
  int64_t read_bytes = 0;
  std::vector<OperatorCost> operators = {};    // By index in the graph.
};

// InvalidArgument (found, expected) for rows or positions below 1 or beyond 2^24; the errors of PlanTiles with the operator.
absl::StatusOr<GraphCost> CostOfGraph(const Graph& graph, const CostSetting& setting);

// What a call of a static graph, or a batch of operators by mailbox, takes beside its operators.
double CallSeconds(const DeviceProfile& profile, const ExecutionStyle& style);

// Power times time of each part, and of being on, in joules. Powers are assumed: compare ratios alone.
double JoulesOf(const GraphCost& cost, const DeviceProfile& profile);

}  // namespace tessera
