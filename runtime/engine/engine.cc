#include "tessera/runtime/engine/engine.h"

#include <utility>

#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/switching/prepare_switching.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Engine>> Engine::Load(const EngineOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Open(options, ModelFile::Weights::kAtOnce));
  TimelineScope scope(options.timeline, Zone::kLoad, 0);
  RETURN_IF_ERROR(OrOutOfMemory([&] { return engine->core_->LoadWeights(); }));
  RETURN_IF_ERROR(engine->AwaitWeights());
  RETURN_IF_ERROR(OrOutOfMemory([&] { return PrepareSwitching(*engine); }));
  return engine;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options, ModelFile::Weights weights) {
  ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> core, OrOutOfMemory([&] { return EngineCore::Open(options, weights); }));
  return std::unique_ptr<Engine>(new Engine(std::move(core)));
}

absl::Status Engine::LoadWeights() {
  RETURN_IF_ERROR(core_->health());
  TimelineScope scope(options().timeline, Zone::kLoad, 0);
  RETURN_IF_ERROR(OrOutOfMemory([&] { return core_->LoadWeights(); }));
  return OrOutOfMemory([&] { return PrepareSwitching(*this); });
}

absl::Status Engine::AwaitWeights(WeightsAre state) {
  RETURN_IF_ERROR(core_->health());
  if (ReadingDevice* const reading = core_->reading(); reading != nullptr) {
    return OrOutOfMemory([&] { return reading->AwaitLoads(); });
  }
  Loading* const loading = model().loading();
  if (loading == nullptr) return absl::OkStatus();
  return OrOutOfMemory([&] { return state == WeightsAre::kVerified ? loading->AwaitChecked() : loading->AwaitResident(); });
}

absl::StatusOr<BudgetPlan> Engine::ShrinkMemory(int64_t budget) {
  if (core_->is_forked()) return core_->health();   // Before any lock, which another thread may have held.
  return core_->ShrinkMemory(budget);
}

EngineMemory Engine::memory() const { return core_->memory(); }

EngineStats Engine::stats() const {
  const PassRunner::Work work = core_->runner().work();
  Loading* const loading = core_->is_forked() ? nullptr : model().loading();   // The loading's lock may be held for good.
  return {.passes = work.passes, .rows = work.rows, .loading_seconds = loading == nullptr ? 0 : loading->LoadingSeconds()};
}

const MemoryPlanner& Engine::planner() const { return core_->planner(); }
const LoadedModel& Engine::model() const { return core_->model(); }
const EngineOptions& Engine::options() const { return core_->options(); }

const Clock& Engine::ClockOr(const Clock* given) const { return GivenOrRealClock(given != nullptr ? given : options().clock); }
int Engine::context() const { return core_->context(); }
int Engine::wanted_context() const { return core_->wanted_context(); }
int Engine::cache_tokens() const { return core_->planner().inputs().cache.slots - core_->options().workload.reserved_slots; }
int Engine::threads() const { return core_->pool().threads(); }

}  // namespace tessera
