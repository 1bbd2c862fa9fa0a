// How fast the flash that a model is streamed from reads at best, which is what streaming is measured against.
//
//   const double best = FlashSpeed(*engine);              // bytes a second: of --flash, else as probed once per disk and kernel
//   if (best > 0) Show(speed / best);
//
// Probing takes about a second where the cache (flash_probe.h) has no answer. Thread-safe.
#pragma once

#include "tessera/runtime/engine.h"

namespace tessera {

// 0 if the engine's options stream nothing, or if it cannot be known: the file is smaller than what is probed with, or cannot be read.
double FlashSpeed(const Engine& engine);

}  // namespace tessera
