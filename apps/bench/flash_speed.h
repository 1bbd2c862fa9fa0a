// How fast the flash that a model is streamed from reads at best, which is what streaming is measured against.
//
//   ASSIGN_OR_RETURN(const double best, FlashSpeed(*engine, room));     // bytes a second: of --flash, else as probed once a disk
//   if (best > 0) Show(speed / best);
//
// Probing takes about a second where the cache (flash_probe.h) has no answer, and memory: under a budget it is for before weights are
// loaded (OpenEngine), and what it gives is handed on. Thread-safe.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/runtime/engine.h"

namespace tessera {

// room: bytes of memory that probing may take. A profile's speed is that of the streamer's reads. 0 if the engine's options stream nothing;
// or if it cannot be known, and why is logged: the file or the room is smaller than what is probed with, or the file cannot be read.
// Cancelled by the engine's options.
absl::StatusOr<double> FlashSpeed(const Engine& engine, int64_t room);

}  // namespace tessera
