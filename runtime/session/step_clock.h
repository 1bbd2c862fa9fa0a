// The clock that charges steps for their time. For a model in memory the clock is an ordinary one.
//
//   const StepClock clock(streamer);
//   const double begin = clock.Seconds();
//   ... a pass ...
//   const double seconds = clock.SecondsSince(begin);     // what it cost, even if its weights had been read already
//
// Weights of a streamed model are read while a step computes. After a step that computes for long, the next step finds its weights already
// read. By an ordinary clock, the step with many rows would look expensive, and the single-row steps after it would look cheap, although
// both are bound by reading. This clock therefore charges the time to read a byte to the step that uses the byte. The clock is behind by
// the reading time of bytes that no step has used yet. If computing takes longer than reading, the ring is full at the end of each step,
// and nothing changes.
//
// Reading takes real time, with every given clock. Thread-compatible.
#pragma once

#include <algorithm>

#include "tessera/base/clock.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

class StepClock {
 public:
  // Makes a clock for a streamer. Null: nothing is streamed. Both must outlive this clock.
  explicit StepClock(const LayerStreamer* streamer, const Clock& clock = RealClock()) : streamer_(streamer), clock_(clock) {}

  double Seconds() const {
    const double now = static_cast<double>(clock_.NowNanos()) * 1e-9;
    return streamer_ == nullptr ? now : now - ReadAhead(streamer_->stats());
  }

  // Returns the seconds since `begin`, never below 0: by the real clock, reading ahead may take longer than the whole step by the given
  // clock.
  double SecondsSince(double begin) const { return std::max(0.0, Seconds() - begin); }

  // Returns the seconds of reading bytes that no lease has used yet.
  static double ReadAhead(const LayerStreamer::Stats& stats) {
    if (stats.bytes_read == 0) return 0;
    return static_cast<double>(stats.bytes_read - stats.bytes_used) / static_cast<double>(stats.bytes_read) *
           static_cast<double>(stats.read_nanos) * 1e-9;
  }

 private:
  const LayerStreamer* streamer_;
  const Clock& clock_;
};

}  // namespace tessera
