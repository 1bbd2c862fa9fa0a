// Memory budgets by the share of the weights that fits into memory.
//
//   ASSIGN_OR_RETURN(options.streaming.memory_budget, BudgetForShare(options, /*share=*/0.25));
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns the bytes of a packed model's weights as stored in the file; 0: the model is not packed.
int64_t StoredWeightBytes(const Engine& engine);

// Returns the memory budget under which `share` of the weights' bytes fits into memory (pins, ring and parts), next to all other memory of
// the process. Returns at least the smallest budget that works. less: bytes to subtract from the planned other memory. WrongUsage (model)
// for a model that is not packed, else the errors of Engine::Open.
absl::StatusOr<int64_t> BudgetForShare(EngineOptions options, double share, int64_t less = 0);

}  // namespace tessera
