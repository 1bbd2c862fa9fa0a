// The clock by which steps are charged for their time. Of a model in memory it is any clock.
//
//   const StepClock clock(engine);
//   const double begin = clock.Seconds();
//   ... a pass ...
//   const double seconds = clock.Seconds() - begin;       // what it cost, also of a pass that found its weights read already
//
// Of a streamed model reading goes on while a step computes. A step that computes long leaves the next one with weights that are there
// already; by the time each of them takes, many rows would look dear and the single rows after them cheap, though reading is what both
// wait for. So a byte's reading is charged to the step that uses it: this clock is behind by what was read ahead. Where reading is hidden
// the ring is full at the end of each step, and nothing changes. Thread-compatible.
#pragma once

#include "tessera/base/clock.h"
#include "tessera/runtime/engine.h"

namespace tessera {

class StepClock {
 public:
  explicit StepClock(const Engine& engine) : streamer_(engine.streamer()) {}   // The engine must outlive it.

  double Seconds() const {
    const double now = static_cast<double>(RealClock().NowNanos()) * 1e-9;
    return streamer_ == nullptr ? now : now - ReadAhead(streamer_->stats());
  }

  // Seconds that it took to read what no lease has used yet.
  static double ReadAhead(const LayerStreamer::Stats& stats) {
    if (stats.bytes_read == 0) return 0;
    return static_cast<double>(stats.bytes_read - stats.bytes_used) / static_cast<double>(stats.bytes_read) *
           static_cast<double>(stats.read_nanos) * 1e-9;
  }

 private:
  const LayerStreamer* streamer_;
};

}  // namespace tessera
