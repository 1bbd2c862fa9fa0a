#include "tessera/apps/bench/flash/share_budget.h"

#include <algorithm>
#include <memory>

#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 60;
constexpr int64_t kSlack = int64_t{4} << 20;      // Opening a model a second time may take this much more of a budget.

}  // namespace

int64_t StoredWeightBytes(const Engine& engine) {
  const TsrReader* const packed = engine.model().file().packed();
  int64_t bytes = 0;
  for (int unit = 0; packed != nullptr && unit < packed->units(); ++unit) bytes += packed->StoredBytes(unit);
  return bytes;
}

absl::StatusOr<int64_t> BudgetForShare(EngineOptions options, double share, int64_t less) {
  options.streaming.memory_budget = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  if (engine->model().file().packed() == nullptr) {
    return WrongUsage("model", options.model_path, "a packed model (tessera_pack): a share of it is streamed");
  }
  ASSIGN_OR_RETURN(const BudgetPlan all, engine->planner().PlanBudget(kNoLimit));
  const int64_t others = all.Total() - all.memory.weights - less;
  return std::max(all.least, others + static_cast<int64_t>(share * static_cast<double>(StoredWeightBytes(*engine)))) + kSlack;
}

}  // namespace tessera
