// An engine whose budget pins a part of its weights, and reads the others from the file in every pass.
//
//   EngineOptions options = {.model_path = packed.path()};
//   const auto engine = PartlyPinned(options);            // and options.streaming.memory_budget is what it took
//
// CHECKs that there is such a budget: the model has to be some MiB larger than what a ring holds. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>

#include "glog/logging.h"
#include "tessera/runtime/engine.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

// More than so many bytes of weights are pinned. What a process has of its own grows from engine to engine, so the budget is tried.
inline std::unique_ptr<Engine> PartlyPinned(EngineOptions& options, int64_t more_than = int64_t{1} << 20) {
  for (int tries = 0; tries < 20; ++tries) {
    auto engine = Must(Engine::Open(options));
    const absl::StatusOr<BudgetPlan> plan = engine->planner().PlanBudget(options.streaming.memory_budget);
    if (plan.ok() && plan->weights.ring_bytes > 0 && plan->weights.pins.bytes > more_than) {
      Must(engine->LoadWeights());
      return engine;
    }
    options.streaming.memory_budget = Must(engine->planner().PlanBudget(int64_t{1} << 40)).least + more_than + (int64_t{2} << 20);
  }
  LOG(FATAL) << "no budget pins a part";
}

}  // namespace tessera
