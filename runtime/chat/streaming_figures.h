// What streaming weights took of a run: bytes, the device's speed, and how long passes waited for it.
//
//   const StreamingFigures before = StreamingFigures::Of(*engine, /*flash_bytes_per_second=*/0);
//   ... passes ...
//   const StreamingFigures taken = StreamingFigures::Of(*engine, 0).Since(before);
//   taken.PerPass().stall;                                            // seconds
//
// Plain data. Threads: Of as the engine.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine.h"

namespace tessera {

struct StreamingFigures {
  // Seconds. Reading goes on beside computing, and beyond the run: it is no part of the two others' sum.
  struct Times { double compute = 0, read = 0, stall = 0; };

  LayerStreamer::Stats stats;
  std::string device;                 // How the file is read, and why so.
  double flash_bytes_per_second = 0;  // What the flash does at best; 0: unknown.
  int64_t passes = 0;
  double seconds = 0;                 // On the real clock: a run's once another's are taken off.

  // Since weights were loaded. REQUIRES: the engine has a streamer.
  static StreamingFigures Of(Engine& engine, double flash_bytes_per_second);
  // What came since `before`: bytes, passes, times, retries. Sizes stay.
  StreamingFigures Since(const StreamingFigures& before) const;
  void Add(const StreamingFigures& more);   // Another run's.

  double BytesPerSecond() const;            // While something was read; 0: nothing was.
  double PinnedShare() const;               // Of all weights.
  Times Total() const;
  Times PerPass() const;
};

// {"bytes_read", "bytes_per_second", "flash_bytes_per_second", "of_flash", "passes", "seconds": {...}, "seconds_per_pass": {"compute",
// "read", "stall"}, "pinned_bytes", "streamed_bytes_per_pass", "pinned_share", "ring_bytes", "out_of_order", "retries", "device"}.
// Null is what cannot be known.
void WriteStreaming(JsonWriter& json, const StreamingFigures& figures);

}  // namespace tessera
