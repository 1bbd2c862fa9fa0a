// Chooses the context under a memory budget if the options ask for none.
#include <algorithm>
#include <optional>

#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {
namespace {

constexpr int kContextStep = 256;   // Tried contexts are multiples of this step. One step is the least context.

}  // namespace

absl::StatusOr<bool> EngineCore::FitsWith(int context, int rows, std::optional<int64_t> process) {
  context_ = context;
  ASSIGN_OR_RETURN(cache_tokens_, CacheTokensOf(options_, context_));
  MakePlanner(rows, process);
  const absl::Status planned = planner_->PlanBudget(options_.streaming.memory_budget).status();
  if (planned.ok() || absl::IsResourceExhausted(planned)) return planned.ok();
  return planned;
}

absl::Status EngineCore::FitContext(int rows) {
  const int usual = wanted_context_ = context_;
  if (options_.streaming.memory_budget == 0 || options_.cache.context != 0 || usual <= kContextStep) return absl::OkStatus();
  if (!absl::IsResourceExhausted(planner_->PlanBudget(options_.streaming.memory_budget).status())) return absl::OkStatus();
  const std::optional<int64_t> process = planner_->inputs().process;   // All plans are for the same process memory.
  // Counts in steps. The graphs were made for passes of `rows`, which are no more than a context.
  int fitting = static_cast<int>(CeilDiv(rows, kContextStep)), too_many = static_cast<int>(CeilDiv(usual, kContextStep));
  ASSIGN_OR_RETURN(bool fits, FitsWith(std::min(fitting * kContextStep, usual), rows, process));
  if (!fits && rows > kContextStep && reading_ == nullptr && motion_ == nullptr) {
    context_ = kContextStep;
    ASSIGN_OR_RETURN(const int fewer, MakeRunner());
    ASSIGN_OR_RETURN(fits, FitsWith(kContextStep, fewer, ProcessBytes()));
    fitting = too_many;   // No context between the two is tried.
  }
  if (!fits) {
    wanted_context_ = context_;   // PlanBudget refuses this context, the least one.
    return absl::OkStatus();
  }
  if (fitting >= too_many) return absl::OkStatus();
  while (too_many - fitting > 1) {
    const int middle = (fitting + too_many) / 2;
    ASSIGN_OR_RETURN(fits, FitsWith(middle * kContextStep, rows, process));
    (fits ? fitting : too_many) = middle;
  }
  ASSIGN_OR_RETURN(fits, FitsWith(fitting * kContextStep, rows, process));
  return absl::OkStatus();
}

}  // namespace tessera
