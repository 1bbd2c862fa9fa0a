// What streaming weights took of a run: bytes, the device's speed, and how long passes waited for it.
//
//   const StreamedRun run(engine, opened.flash_bytes_per_second);         // see OpenEngine
//   ... a run ...
//   run.WriteError();                                 // "... GB/s, 85 % of the flash; ... | peak memory 312 MiB"; nothing if not streamed
//
// StreamingFigures are plain data. Threads: those of the engine.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine.h"

namespace tessera {

struct StreamingFigures {
  LayerStreamer::Stats stats;
  std::string device;                 // How the file is read, and why so.
  double flash_bytes_per_second = 0;  // What the flash does at best (FlashSpeed); 0: unknown.
  int64_t passes = 0;
  double seconds = 0;                 // Of the run.

  // Since weights were loaded. REQUIRES: the engine has a streamer.
  static StreamingFigures Of(Engine& engine, double flash_bytes_per_second);
  // What came since `before`: bytes, passes, times, retries. Sizes stay.
  StreamingFigures Since(const StreamingFigures& before) const;
  void Add(const StreamingFigures& more);   // Another run's.
};

// "28 % of the weights pinned, the rest read in each of 35 passes: 3.41 GB/s, 85 % of the flash; a pass computes 30.1 ms, reads
// 110.2 ms, waits 81.0 ms".
std::string StreamingLine(const StreamingFigures& figures);

// {"bytes_read", "bytes_per_second", "flash_bytes_per_second", "of_flash", "passes", "seconds": {...}, "seconds_per_pass": {"compute",
// "read", "stall"}, "pinned_bytes", "streamed_bytes_per_pass", "pinned_share", "ring_bytes", "out_of_order", "retries", "device"}.
// Null is what cannot be known.
void WriteStreaming(JsonWriter& json, const StreamingFigures& figures);

// From when it was made: what a program says of streaming beside its result. Nothing if nothing is streamed.
class StreamedRun {
 public:
  StreamedRun(Engine& engine, double flash_bytes_per_second);   // An engine that has loaded its weights.
  double flash_bytes_per_second() const { return flash_; }
  void WriteMembers(JsonWriter& json) const;     // "streaming" and "peak_memory_bytes", of the object at hand.
  void WriteError() const;                       // A line.

 private:
  StreamingFigures Figures() const { return StreamingFigures::Of(engine_, flash_).Since(before_); }

  Engine& engine_;
  const double flash_;
  StreamingFigures before_;
};

}  // namespace tessera
