// Measures the cost of streaming weights in a run: bytes, the device's speed, and the time that passes waited for the device.
//
//   const StreamingFigures before = StreamingFigures::Of(*engine, /*flash_bytes_per_second=*/0);
//   ... passes ...
//   const StreamingFigures taken = StreamingFigures::Of(*engine, 0).Since(before);
//   taken.PerPass().stall;                                            // seconds
//
// Plain data. Threads: as the engine.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Counts and times of weight streaming.
struct StreamingFigures {
  // Seconds. Reading runs in parallel with computing, and beyond the run, so `read` is no part of the sum of the two others.
  struct Times { double compute = 0, read = 0, stall = 0; };

  LayerStreamer::Stats stats;
  std::string device;                 // The way the file is read, and the reason.
  double flash_bytes_per_second = 0;  // The flash's best speed; 0: unknown.
  int64_t passes = 0;
  double seconds = 0;                 // On the real clock; in a difference: the length of the run.

  // Returns the figures since weights were loaded. REQUIRES: the engine has a streamer.
  static StreamingFigures Of(Engine& engine, double flash_bytes_per_second);
  // Returns the difference to `before` in bytes, passes, times and retries. Sizes stay.
  StreamingFigures Since(const StreamingFigures& before) const;
  void Add(const StreamingFigures& more);   // Adds the figures of another run.

  double BytesPerSecond() const;            // While something was read; 0: nothing was read.
  double PinnedShare() const;               // Share of all weights that is pinned.
  Times Total() const;
  Times PerPass() const;
};

// Writes {"bytes_read", "bytes_per_second", "flash_bytes_per_second", "of_flash", "passes", "seconds": {...}, "seconds_per_pass":
// {"compute", "read", "stall"}, "pinned_bytes", "streamed_bytes_per_pass", "pinned_share", "ring_bytes", "out_of_order", "retries",
// "device"}. Unknown values are null.
void WriteStreaming(JsonWriter& json, const StreamingFigures& figures);

}  // namespace tessera
