// What programs say about streaming weights beside their results.
//
//   const StreamedRun run(engine, opened.flash_bytes_per_second);         // see OpenEngine
//   ... a run ...
//   run.WriteError();                                 // "streaming: ... GB/s, 85 % of the flash", ..., "peak memory ..."
//
// Threads: those of the engine.
#pragma once

#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/chat/streaming_figures.h"

namespace tessera {

// The most memory that the process had: "312 MiB", or "not known"; under a budget with the part of it that no budget counts: "312 MiB,
// mapped code 9.80 MiB of it".
std::string PeakText(const Engine& engine);

// Titled lines, each of at most 100 columns:
//
//   streaming: 28 % of the weights pinned, the rest read in each of 35 passes: 3.41 GB/s, 85 % of the flash
//   streaming, pass: computes 30.1 ms, reads 110.2 ms, waits 81.0 ms
std::string StreamingText(const StreamingFigures& figures);

// The figures from the construction of this object on. If nothing is streamed, only those of memory.
class StreamedRun {
 public:
  StreamedRun(Engine& engine, double flash_bytes_per_second);   // The engine must have loaded its weights.
  double flash_bytes_per_second() const { return flash_; }
  // "streaming", if weights are streamed, and those of WriteMemory: members of the current object.
  void WriteMembers(JsonWriter& json) const;
  void WriteError() const;                       // A few lines.

 private:
  StreamingFigures Figures() const { return StreamingFigures::Of(engine_, flash_).Since(before_); }

  Engine& engine_;
  const double flash_;
  StreamingFigures before_;
};

}  // namespace tessera
