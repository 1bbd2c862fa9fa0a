// Shows progress while a model computes, so that slow can be told from hung. For a streamed model the line shows reading inside a pass.
//
//   {
//     PassProgress progress(engine, "prompt", /*total=*/tokens.size(), /*flash_bytes_per_second=*/0);
//     RETURN_IF_ERROR(session->Append(tokens));
//   }                                                // the line is removed
//
//   prompt: 36 % (512 of 1400), 41.2/s, 22 s left; pass 2: 612 MiB of 1.74 GiB, 2.34 GiB in all, 3.41 GB/s, 85 % of the flash
//
// The line is drawn by base/progress.h on a separate thread, and so moves while a pass takes seconds. The line counts the rows that were
// computed, unless Update is called. Where the system has no thread to give there is no line. Threads: one thread makes, updates and ends
// the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tessera/apps/cli/screen/drawing_thread.h"
#include "tessera/base/progress.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// The part of the line about reading, from a few counters. Thread-compatible.
class ReadingNote {
 public:
  struct Counters {
    int64_t nanos;               // Time on the clock.
    int64_t passes, bytes;       // Passes begun, bytes read.
  };
  // Returns the engine's present counters. Callable from any thread.
  static Counters Of(const Engine& engine);
  // Returns the bytes that a pass of the engine reads. 0: the weights are not streamed.
  static int64_t PassBytes(const Engine& engine);

  // flash: the flash's bytes per second at best; 0: unknown.
  ReadingNote(const Counters& begin, int64_t pass_bytes, double flash)
      : begin_(begin), pass_(begin), second_(begin), pass_bytes_(pass_bytes), flash_(flash) {}

  // Returns "pass 2: 612 MiB of 1.74 GiB, 2.34 GiB in all, 3.41 GB/s, 85 % of the flash". The speed is an average over about the last
  // second.
  std::string Text(const Counters& now);

 private:
  const Counters begin_;
  Counters pass_;                // Counters when the present pass was first noticed.
  Counters second_;              // Counters at the start of the second that the speed is measured over.
  double speed_ = 0;
  const int64_t pass_bytes_;
  const double flash_;
};

class PassProgress {
 public:
  // total 0: unknown. REQUIRES: the engine's weights are loaded, and the engine outlives the object.
  PassProgress(Engine& engine, std::string label, int64_t total, double flash, const Progress::Options& options = {});
  ~PassProgress() { drawing_.End(); shown_.Erase(); }

  void Update(int64_t done) { told_ = done; }

 private:
  void Draw();

  Engine& engine_;
  const int64_t rows_before_;
  std::atomic<int64_t> told_{-1};
  Progress shown_;               // Used by the drawing thread.
  ReadingNote note_;             // Used by the drawing thread, too.
  DrawingThread drawing_;
};

}  // namespace tessera
