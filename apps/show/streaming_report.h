// Reports of programs about streamed weights, next to the results.
//
//   const StreamedRun run(engine, opened.flash_bytes_per_second);         // see OpenEngine
//   ... a run ...
//   run.WriteError();                                 // "streaming: ... GB/s, 85 % of the flash", ..., "peak memory ..."
//
// Threads: as the engine.
#pragma once

#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/chat/streaming_figures.h"

namespace tessera {

// Returns the most memory that the process had: "312 MiB", or "not known". Under a budget, names the part that no budget counts: "312 MiB,
// mapped code 9.80 MiB of it".
std::string PeakText(const Engine& engine);

// Returns titled lines, each of at most 100 columns:
//
//   streaming: 28 % of the weights pinned, the rest read in each of 35 passes: 3.41 GB/s, 85 % of the flash
//   streaming, pass: computes 30.1 ms, reads 110.2 ms, waits 81.0 ms
std::string StreamingText(const StreamingFigures& figures);

// The figures since the object's construction. If nothing is streamed, only the figures of memory.
class StreamedRun {
 public:
  StreamedRun(Engine& engine, double flash_bytes_per_second);   // REQUIRES: the weights are loaded.
  double flash_bytes_per_second() const { return flash_; }
  // Adds members to the current object: "streaming", if weights are streamed, and the members of WriteMemory.
  void WriteMembers(JsonWriter& json) const;
  void WriteError() const;                       // Writes a few lines to standard error.

 private:
  StreamingFigures Figures() const { return StreamingFigures::Of(engine_, flash_).Since(before_); }

  Engine& engine_;
  const double flash_;
  StreamingFigures before_;
};

}  // namespace tessera
