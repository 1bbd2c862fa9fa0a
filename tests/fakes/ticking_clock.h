// A clock that advances by the same time with every read: durations measured by this clock are equal in every run, on every machine.
//
//   TickingClock clock(1'000'000);   // a millisecond per look
//   clock.Advance(50'000'000);       // something takes its time
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "tessera/base/clock.h"

namespace tessera {

class TickingClock : public Clock {
 public:
  explicit TickingClock(int64_t nanos) : nanos_(nanos) {}
  int64_t NowNanos() const override { return now_ += nanos_; }
  void Advance(int64_t nanos) { now_ += nanos; }

 private:
  const int64_t nanos_;
  mutable std::atomic<int64_t> now_ = 0;
};

}  // namespace tessera
