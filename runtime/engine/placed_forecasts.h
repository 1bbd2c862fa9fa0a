// A model's forecasts (model/forecasts.h), ready for the passes of an engine: the prefix's keys and values lie in slots of its cache.
//
//   EngineOptions options = {.model_path = "model.gguf"};
//   options.workload.reserved_slots = sizes.slots;                             // the prefix takes none of what texts have
//   ... the engine is opened and loads its weights ...
//   ASSIGN_OR_RETURN(const std::shared_ptr<const PlacedForecasts> placed, PlacedForecasts::Place(SharedCoreOf(*engine), forecasts));
//   ForecastDrafter drafter(placed, {.forecasts = forecasts->sizes().forecasts});      // then streams compute them (cached_text.h)
//
// The slots are stored by the engine's device, by the operator that stores those of a pass, so whatever the cache's format is they are what
// a pass would have stored. They are taken once for all texts and drafters, and given back with the last owner of this.
// Threads: as the core, which is held while this is made and where it ends; what is const may be called where the core is held.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/model/forecasts.h"
#include "tessera/model/kv_cache.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {

class PlacedForecasts {
 public:
  // InvalidArgument (found, expected) for forecasts of a model of another shape, and an engine that switches graphs; ResourceExhausted if
  // the cache has no room for the slots; FailedPrecondition before weights are loaded, and within a pass of this thread; the errors of the
  // device. Then nothing is taken. The core lives as long as this.
  static absl::StatusOr<std::shared_ptr<const PlacedForecasts>> Place(std::shared_ptr<EngineCore> core,
                                                                      std::shared_ptr<const Forecasts> forecasts);
  ~PlacedForecasts();
  PlacedForecasts(const PlacedForecasts&) = delete;
  PlacedForecasts& operator=(const PlacedForecasts&) = delete;

  const Forecasts& forecasts() const { return *forecasts_; }
  // InvalidArgument (found, expected) unless this is of the engine's cache, whose graphs are not switched.
  absl::Status CheckFits(const EngineCore& core) const;
  // The slots of the prefix, with which the paths of forecasts begin. Until slots of the cache move (KvCache::Shrink).
  KvCache::Paths Prefix() const { return core_->cache().PathsOf(sequence_, forecasts_->sizes().slots); }

 private:
  PlacedForecasts(std::shared_ptr<EngineCore> core, std::shared_ptr<const Forecasts> forecasts);
  absl::Status Store();

  const std::shared_ptr<EngineCore> core_;
  const std::shared_ptr<const Forecasts> forecasts_;
  const KvCache::SequenceId sequence_;   // As long as the prefix.
};

}  // namespace tessera
