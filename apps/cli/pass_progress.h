// Tells slow from hung while a model computes: what is done and, of a streamed model, how its reading goes on inside a pass.
//
//   {
//     PassProgress progress(engine, "prompt", /*total=*/tokens.size(), /*flash_bytes_per_second=*/0);
//     RETURN_IF_ERROR(session->Append(tokens));
//   }                                                // the line is gone again
//
//   prompt: 36 % (512 of 1400), 41.2/s, 22 s left; pass 2: 612 MiB of 1.74 GiB, 2.34 GiB in all, 3.41 GB/s, 85 % of the flash
//
// The line is base/progress.h's and is drawn by a thread of its own, so it moves while a pass takes seconds. What counts is the
// rows that were computed, unless Update is called. Threads: one makes, updates and ends it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "tessera/base/progress.h"
#include "tessera/runtime/engine.h"

namespace tessera {

// What is said of reading, from a few counters. Thread-compatible.
class ReadingNote {
 public:
  struct Counters {
    int64_t nanos;               // On the clock.
    int64_t passes, bytes;       // Begun, and read.
  };
  // flash: its bytes a second at best; 0: unknown.
  ReadingNote(const Counters& begin, int64_t pass_bytes, double flash)
      : begin_(begin), pass_(begin), second_(begin), pass_bytes_(pass_bytes), flash_(flash) {}

  // "pass 2: 612 MiB of 1.74 GiB, 2.34 GiB in all, 3.41 GB/s, 85 % of the flash". The speed is that of about the last second.
  std::string Text(const Counters& now);

 private:
  const Counters begin_;
  Counters pass_;                // When this pass began, as far as was seen.
  Counters second_;              // When the second began over which the speed is measured.
  double speed_ = 0;
  const int64_t pass_bytes_;
  const double flash_;
};

class PassProgress {
 public:
  // total 0: unknown. The engine's weights are loaded, and it outlives this.
  PassProgress(Engine& engine, std::string label, int64_t total, double flash, const Progress::Options& options = {});
  ~PassProgress();

  void Update(int64_t done) { told_ = done; }

 private:
  ReadingNote::Counters Now() const;
  void Draw();
  void DrawUntilDone();

  Engine& engine_;
  const int64_t rows_before_;
  std::atomic<int64_t> told_{-1};
  Progress shown_;               // The thread's.
  ReadingNote note_;             // Likewise.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace tessera
