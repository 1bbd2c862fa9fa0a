// Readies an engine whose prefill and decode graphs change places: how many blocks, where they end, and graphs of how many rows, by what
// layers take here. That is measured once and kept beside the model (switch_profile.h).
//
//   options.compute.switching = {.prefill_rows = 256, .decode_rows = 32};
//   options.compute.warm_up = {.path = SwitchProfilePath(model, "8gen3"), .device = key, .question = {.prefill_rows = {128, 256}, ...}};
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));   // calls PrepareSwitching
//   CoreOf(*engine).motion()->ends();                                                // as it was chosen
//
// Threads: those of the engine.
#pragma once

#include "absl/status/status.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Called by Engine::Load and LoadWeights. Nothing to do without ComputeOptions::warm_up. A profile that is no profile, of another device or
// model, or lacks rows is measured anew, and one that cannot be written is not kept: SwitchReady says so. Nothing is recorded on the
// timeline, nor on one that is the device's own. WrongUsage (blocks) for more blocks than layers; FailedPrecondition without
// ComputeOptions::switching; the errors of MeasureGraphTimes, ChooseSwitch and GraphMotion.
absl::Status PrepareSwitching(Engine& engine);

}  // namespace tessera
