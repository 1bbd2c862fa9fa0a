// A model's forecasts (model/forecasts.h), ready for an engine's passes. The keys and values of the prefix lie in slots of the engine's
// cache.
//
//   EngineOptions options = {.model_path = "model.gguf"};
//   options.workload.reserved_slots = sizes.slots;                             // for the prefix; sequences keep all other slots
//   ... the engine is opened and loads its weights ...
//   ASSIGN_OR_RETURN(const std::shared_ptr<const PlacedForecasts> placed, PlacedForecasts::Place(SharedCoreOf(*engine), forecasts));
//   ForecastDrafter drafter(placed, {.forecasts = forecasts->sizes().forecasts});      // then streams compute them (cached_text.h)
//
// The engine's device stores the slots, with the operator that stores a pass's slots. In every cache format the slots therefore have the
// content that a pass would have stored. The slots are taken once for all sequences and drafters, and given back with the last owner of
// this object.
// Threads: as EngineCore. The core is held while this object is made and destroyed. Const functions may be called while the core is held.
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
  // Places the forecasts in the engine's cache. InvalidArgument (found, expected) for forecasts of a model of another shape, and for an
  // engine that switches graphs. ResourceExhausted if the cache has no room for the slots. FailedPrecondition before weights are loaded,
  // and within a pass of this thread. Also returns the errors of the device. After an error no slot is taken. The core lives as long as
  // this object.
  static absl::StatusOr<std::shared_ptr<const PlacedForecasts>> Place(std::shared_ptr<EngineCore> core,
                                                                      std::shared_ptr<const Forecasts> forecasts);
  ~PlacedForecasts();
  PlacedForecasts(const PlacedForecasts&) = delete;
  PlacedForecasts& operator=(const PlacedForecasts&) = delete;

  const Forecasts& forecasts() const { return *forecasts_; }
  // Checks that this object belongs to the engine's cache and that the engine switches no graphs; else InvalidArgument (found, expected).
  absl::Status CheckFits(const EngineCore& core) const;
  // Returns the slots of the prefix, with which the paths of forecasts begin. Valid until slots of the cache move (KvCache::Shrink).
  KvCache::Paths Prefix() const { return core_->cache().PathsOf(sequence_, forecasts_->sizes().slots); }

 private:
  PlacedForecasts(std::shared_ptr<EngineCore> core, std::shared_ptr<const Forecasts> forecasts);
  absl::Status Store();

  const std::shared_ptr<EngineCore> core_;
  const std::shared_ptr<const Forecasts> forecasts_;
  const KvCache::SequenceId sequence_;   // As long as the prefix.
};

}  // namespace tessera
