// The cost of streaming weights in a run: bytes, the device's speed, and how long passes waited for it.
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
  std::string device;                 // How the file is read, and why.
  double flash_bytes_per_second = 0;  // The flash's best speed (FlashSpeed); 0: unknown.
  int64_t passes = 0;
  double seconds = 0;                 // Length of the run.

  // The figures since weights were loaded. REQUIRES: the engine has a streamer.
  static StreamingFigures Of(Engine& engine, double flash_bytes_per_second);
  // The difference to `before` in bytes, passes, times and retries. Sizes stay.
  StreamingFigures Since(const StreamingFigures& before) const;
  void Add(const StreamingFigures& more);   // Adds those of another run.
};

// "28 % of the weights pinned, the rest read in each of 35 passes: 3.41 GB/s, 85 % of the flash; a pass computes 30.1 ms, reads
// 110.2 ms, waits 81.0 ms".
std::string StreamingLine(const StreamingFigures& figures);

// {"bytes_read", "bytes_per_second", "flash_bytes_per_second", "of_flash", "passes", "seconds": {...}, "seconds_per_pass": {"compute",
// "read", "stall"}, "pinned_bytes", "streamed_bytes_per_pass", "pinned_share", "ring_bytes", "out_of_order", "retries", "device"}.
// Unknown values are null.
void WriteStreaming(JsonWriter& json, const StreamingFigures& figures);

// What a program says about streaming beside its result, counted from the construction of this object. Nothing if nothing is streamed.
class StreamedRun {
 public:
  StreamedRun(Engine& engine, double flash_bytes_per_second);   // The engine must have loaded its weights.
  double flash_bytes_per_second() const { return flash_; }
  void WriteMembers(JsonWriter& json) const;     // "streaming" and "peak_memory_bytes", members of the current object.
  void WriteError() const;                       // A line.

 private:
  StreamingFigures Figures() const { return StreamingFigures::Of(engine_, flash_).Since(before_); }

  Engine& engine_;
  const double flash_;
  StreamingFigures before_;
};

}  // namespace tessera
