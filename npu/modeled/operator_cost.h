// The cost of each operator of a graph on a phone's NPU, from the profile: seconds, the bound, and the busy time of each part.
//
//   const CostSetting setting = {.profile = profile, .style = style, .rows = 32, .positions = 1024};
//   ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(compiled.graph, setting));
//   Print(cost.seconds, BoundName(cost.bound), cost.read_bytes);
//
// The model, in short (docs/npu.md): an operator takes as long as the slowest of the parts that can work in parallel. By mailbox, products
// with tiles run the schedule of tile_plan.h, and attention runs the blocks of Algorithm 1 (the test-time scaling paper). In static graphs,
// reading overlaps with computing; rows and context are the rows and context that the graph was compiled for. A static graph that was not
// transformed (Graph::form) has more operators and writes numbers once more than necessary. The additional operators and writes cost as
// much as rows. Costs depend on shapes alone, not on numbers. Parameters come from the profile.
//
// Threads: thread-safe (pure functions).
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

// Layouts of weights in tiles, for ablations: the layout determines the work to make FP16 of the weights (the test-time scaling paper,
// section 7.4).
enum class WeightArrangement : uint8_t { kSuperGroups, kTileGroups, kScattered, kNotDequantized };

// The method that computes 2^x (the test-time scaling paper, section 7.4).
enum class ModeledExp : uint8_t { kTable, kHalfPolynomial, kFloatPolynomial };

struct CostSetting {
  const DeviceProfile& profile;
  ExecutionStyle style = {};
  int64_t rows = 1;        // By mailbox: rows of this run. A static graph: rows that the graph was compiled for.
  int64_t positions = 1;   // Positions that each row attends to; the context if SeesWholeContext(style).
  int64_t plain_rows = -1; // Rows of products on the CPU, which has no static graphs. Below 0: `rows`.
  // Rows of attention on the CPU. Below 0: `rows`. No source says whether the CPU skips the empty rows of a static graph; predictions
  // assume that the CPU does not.
  int64_t attention_rows = -1;
  int adapter_rank = 0;    // Rank of the adapters that are bound to each placeholder; 0: no adapters.
  absl::Span<const int> adapter_ranks = {};   // Ranks by placeholder, if different. Empty: adapter_rank at each.
  bool masks_adapters = false;   // Ranks cover several tasks' adapters side by side; a mask multiplies the products.
  WeightArrangement arrangement = WeightArrangement::kSuperGroups;
  ModeledExp exp = ModeledExp::kTable;
};

struct OperatorCost {
  double seconds = 0;
  Bound bound = Bound::kCall;
  double busy[kBounds] = {};     // Seconds of work of each part; kCall: overhead.
  int64_t read_bytes = 0;        // From DDR: weights, keys and values.
};

struct GraphCost {
  double seconds = 0;                          // The sum over operators; without the call of the graph.
  Bound bound = Bound::kCall;                  // The bound of the largest part of the time.
  double busy[kBounds] = {};
  int64_t read_bytes = 0;
  std::vector<OperatorCost> operators = {};    // By index in the graph.
};

// Returns the cost of a graph. InvalidArgument (found, expected) for rows or positions below 1 or beyond 2^24; the errors of PlanTiles,
// with the operator.
absl::StatusOr<GraphCost> CostOfGraph(const Graph& graph, const CostSetting& setting);

// Returns the seconds of a call of a static graph, or of a batch of operators by mailbox, in addition to the operators.
double CallSeconds(const DeviceProfile& profile, const ExecutionStyle& style);

// Returns joules: for each part, and for being on, power times time. Powers are assumed: compare only ratios.
double JoulesOf(const GraphCost& cost, const DeviceProfile& profile);

}  // namespace tessera
