// What the one-for-all paper's transformations of graphs save on a phone: a chunk of the prompt and a pass of one row, before and after
// each.
//
//   const PassShape chunk = {.rows = 128, .positions = 128}, row = {.rows = 1, .positions = 600};
//   ASSIGN_OR_RETURN(const std::vector<FormCost> costs, CostsByForm(coster, chunk, row));
//   Print(FormCostsText(costs));
//   for (const FormCost& cost : costs) Print(cost.name, cost.chunk_seconds, cost.row_seconds);
//
// Only static graphs have a form: by mailbox all costs are equal. Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/pass_cost.h"

namespace tessera {

struct FormCost {
  std::string name = {};                                         // "none", or a pass (npu/graph_passes.h).
  double chunk_seconds = 0, row_seconds = 0;                     // With it and the passes before it, and no other.
  double chunk_seconds_without = 0, row_seconds_without = 0;     // With all passes but it; for "none", with all.
};

// "none", then the passes in their order: after the last one all are done, which is what graphs cost elsewhere. Errors: PassCoster::Of's.
absl::StatusOr<std::vector<FormCost>> CostsByForm(const PassCoster& coster, const PassShape& chunk, const PassShape& row);

std::string FormCostsText(absl::Span<const FormCost> costs);               // A table, in milliseconds.
void WriteFormCosts(absl::Span<const FormCost> costs, JsonWriter& json);   // An array of objects, one for each.

}  // namespace tessera
