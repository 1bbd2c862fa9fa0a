// An engine whose budget pins a part of its weights, and reads the others from the file in every pass.
//
//   EngineOptions options = {.model_path = packed.path()};
//   const auto engine = PartlyPinned(options);            // and options.streaming.memory_budget is what it took
//
// The memory of the process itself is left out of the plan, because this memory changes with every test. CHECKs that there is such a
// budget: the model has to be some MiB larger than a ring's contents. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "glog/logging.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

// Pins more than `more_than` bytes of weights, by a budget of `beyond_least` bytes above the least.
inline std::unique_ptr<Engine> PartlyPinned(EngineOptions& options, int64_t more_than = int64_t{1} << 20,
                                            int64_t beyond_least = int64_t{3} << 20) {
  TestHooks hooks = options.hooks == nullptr ? TestHooks() : *options.hooks;
  hooks.own_memory = 0;
  options.hooks = Hooks(std::move(hooks));
  const int64_t least = Must(Must(Engine::Open(options))->planner().PlanBudget(int64_t{1} << 40)).least;
  options.streaming.memory_budget = least + beyond_least;
  auto engine = Must(Engine::Open(options));
  const BudgetPlan plan = Must(engine->planner().PlanBudget(options.streaming.memory_budget));
  CHECK(plan.weights.ring_bytes > 0 && plan.weights.pins.bytes > more_than) << plan.weights.pins.bytes;
  Must(engine->LoadWeights());
  return engine;
}

}  // namespace tessera
