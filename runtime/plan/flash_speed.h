// The best speed of the flash from which a model is streamed. Streaming is compared with it.
//
//   ASSIGN_OR_RETURN(const FlashRate best, FlashSpeed(*engine, room));     // by StreamingOptions::flash, else probed once per disk
//   if (best.bytes_per_second > 0) Show(speed / best.bytes_per_second);
//
// If the cache (flash_probe.h) has no answer, probing takes about a second, and memory. Under a budget, probe before weights are loaded
// (OpenEngine) and keep the result. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct FlashRate {
  double bytes_per_second = 0;   // 0: the engine streams nothing, or the speed is unknown.
  std::string warning = {};      // Says why the speed is unknown, or why it was not kept. Empty: all went well.
};

// Returns the speed of the flash. room: bytes of memory that probing may take. A profile's speed is its speed for reads as large as the
// streamer's. The speed is unknown if the file or the room is too small for the probe, or the file cannot be read. The engine's options can
// cancel the probe.
absl::StatusOr<FlashRate> FlashSpeed(const Engine& engine, int64_t room);

}  // namespace tessera
