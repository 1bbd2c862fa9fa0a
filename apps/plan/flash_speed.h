// The best speed of the flash from which a model is streamed. Streaming is compared with it.
//
//   ASSIGN_OR_RETURN(const double best, FlashSpeed(*engine, room));     // bytes per second: of --flash, else probed once per disk
//   if (best > 0) Show(speed / best);
//
// If the cache (flash_probe.h) has no answer, probing takes about a second, and memory. Under a budget, probe before weights are loaded
// (OpenEngine) and keep the result. Thread-safe.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// room: bytes of memory that probing may take. A profile's speed is its speed for reads as large as the streamer's. 0 if the engine's
// options stream nothing, or if the speed cannot be measured; the log then says why: the file or the room is too small for the probe, or
// the file cannot be read. The engine's options can cancel it.
absl::StatusOr<double> FlashSpeed(const Engine& engine, int64_t room);

}  // namespace tessera
