// Prepares an engine whose prefill and decode graphs change places. Chooses the number of blocks, the blocks' ends and the rows of graphs
// by the layers' times on this device. The times are measured once and kept in a file next to the model (switch_profile.h).
//
//   options.compute.switching = {.prefill_rows = 256, .decode_rows = 32};
//   options.compute.warm_up = {.path = SwitchProfilePath(model, "8gen3"), .device = key, .question = {.prefill_rows = {128, 256}, ...}};
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));   // calls PrepareSwitching
//   CoreOf(*engine).motion()->ends();                                                // as it was chosen
//
// Threads: as Engine.
#pragma once

#include "absl/status/status.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Chooses and applies the switching. Called by Engine::Load and LoadWeights. Does nothing without ComputeOptions::warm_up. Measures again
// if the file is no profile, belongs to another device or model, or lacks rows. A profile that cannot be written is not kept. SwitchReady
// reports both cases. Nothing is recorded on the timeline, nor on a timeline of the device. WrongUsage (blocks) for more blocks than
// layers; FailedPrecondition without ComputeOptions::switching; the errors of MeasureGraphTimes, ChooseSwitch and GraphMotion.
absl::Status PrepareSwitching(Engine& engine);

}  // namespace tessera
