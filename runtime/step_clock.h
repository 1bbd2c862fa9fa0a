// The clock by which a step is charged for its time. While weights are in memory it is any clock.
//
//   const StepClock clock(streamer);
//   const double begin = clock.Seconds();
//   ... a pass ...
//   const double seconds = clock.Seconds() - begin;       // what it cost, even if its weights were read before it began
//
// While a model is streamed, reading goes on during a step, so a step that computes for long leaves weights in the ring for the next one. By
// wall time the wide pass would look expensive and the narrow pass after it cheap, although both are bound by reading. So the time that a
// byte took to read is charged to the step that uses it: this clock is behind the wall clock by what was read ahead. Where computing
// takes longer than reading, the ring is full at the end of every step, and the two clocks agree. Thread-compatible.
#pragma once

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
