// How fast this machine computes a pass of a model and reads its weights, measured before they are loaded.
//
//   ASSIGN_OR_RETURN(const BudgetPlan plan, engine->planner().PlanBudget(budget));
//   ASSIGN_OR_RETURN(const PassSpeeds speeds, PassSpeeds::Measure(*engine, plan));       // about a second at most
//   speeds.TokensPerSecond(plan.weights.pass_bytes);                                      // of passes of one row, at most
//
// A pass takes the longest of three times: its products, at their speed with weights in cache; reading weights from memory and writing
// streamed ones to it; and reading these from flash (docs/storage.md). Attention is left out, as are waits between the three, and other
// work on the machine. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct PassSpeeds {
  double weight_bytes = 0;              // That a pass computes with.
  double product_seconds = 0;           // For a row.
  double memory_bytes_per_second = 0;
  double flash_bytes_per_second = 0;    // 0: nothing is streamed, or the speed is unknown (flash_speed.h).
  std::string warning = {};             // Says why the flash's speed is unknown or was not kept (flash_speed.h); else empty.

  // Measures the speeds. Needs memory only for the measurement, at most the plan's room for weights, keys and values, and scratch: none of
  // them exists yet. REQUIRES: weights are not loaded.
  static absl::StatusOr<PassSpeeds> Measure(const Engine& engine, const BudgetPlan& plan);

  // Returns the speed of passes of one row that stream `pass_bytes`. 0: unknown, like the flash's speed.
  double TokensPerSecond(int64_t pass_bytes) const;
};

}  // namespace tessera
