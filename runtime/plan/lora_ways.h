// What adapters of several tasks cost on a phone in each of the three ways of the one-for-all paper (npu/lora_mode.h): memory, passes,
// changing tasks.
//
//   const PassShape chunk = {.rows = 128, .positions = 128}, row = {.rows = 1, .positions = 600};
//   const int ranks[] = {8, 8, 16};
//   ASSIGN_OR_RETURN(const std::vector<LoraWay> ways, CostsByLoraMode(coster, config, profile, style, ranks, chunk, row));
//   Print(LoraWaysText(ways));
//
// Each task has an adapter of one rank on all seven matrices of all layers, in 16 bits. As inputs all have the largest rank, and are
// copied into the graph's inputs when the task changes. Under a mask all ranks are multiplied in every pass, and the mask is one operator
// more of each product. Graphs of tasks have A and B of their own ranks, and another is loaded when the task changes: where weights are
// shared this is a switch of graphs. Shapes alone count. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/files/config.h"
#include "tessera/model/pass_cost.h"
#include "tessera/npu/lora_mode.h"

namespace tessera {

struct LoraWay {
  LoraMode mode = LoraMode::kInput;
  int rank = 0;                  // That a product computes. By kGraph there is a way for each rank of the list.
  int graphs = 1;                // For each number of rows that is compiled for.
  int64_t bytes = 0;             // Those of all tasks together,
  int64_t padding_bytes = 0;     // and the part of it that is padding.
  double chunk_seconds = 0, row_seconds = 0;
  double switch_seconds = 0;     // From one task to another.
};

// coster: of the model without adapters. ranks: one for each task; at least one. Errors: PassCoster::Of's.
absl::StatusOr<std::vector<LoraWay>> CostsByLoraMode(const PassCoster& coster, const ModelConfig& config, const DeviceProfile& profile,
                                                     const ExecutionStyle& style, absl::Span<const int> ranks, const PassShape& chunk,
                                                     const PassShape& row);

// The rank that a product computes: the largest, or all together under a mask. REQUIRES: ranks are not empty.
int ComputedRank(LoraMode mode, absl::Span<const int> ranks);

std::string LoraWaysText(absl::Span<const LoraWay> ways);               // A table.
void WriteLoraWays(absl::Span<const LoraWay> ways, JsonWriter& json);   // An array of objects, one for each.

}  // namespace tessera
