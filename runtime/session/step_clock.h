// The clock by which steps are charged for their time. For a model in memory it is an ordinary clock.
//
//   const StepClock clock(streamer);
//   const double begin = clock.Seconds();
//   ... a pass ...
//   const double seconds = clock.SecondsSince(begin);     // what it cost, even if its weights had been read already
//
// Weights of a streamed model are read while a step computes. After a step that computes for long, the next step finds its weights read
// already. By an ordinary clock, the step with many rows would look expensive and the steps with a single row after it cheap, although both
// are bound by reading. So the time to read a byte is charged to the step that uses it: this clock is behind by the time it took to read
// what no step has used yet. Where computing takes longer than reading, the ring is full at the end of each step, and nothing changes.
//
// Reading takes real time, whatever clock is given in. Thread-compatible.
#pragma once

#include <algorithm>

#include "tessera/base/clock.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

class StepClock {
 public:
  // Null: nothing is streamed. Both must outlive this.
  explicit StepClock(const LayerStreamer* streamer, const Clock& clock = RealClock()) : streamer_(streamer), clock_(clock) {}

  double Seconds() const {
    const double now = static_cast<double>(clock_.NowNanos()) * 1e-9;
    return streamer_ == nullptr ? now : now - ReadAhead(streamer_->stats());
  }

  // Never below 0: reading ahead may take longer by the real clock than all of the step by the one given in.
  double SecondsSince(double begin) const { return std::max(0.0, Seconds() - begin); }

  // Seconds that it took to read what no lease has used yet.
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
