// Time for the engine: real on a host, virtual if a modeled device advances the clock.
//
//   const Clock& clock = RealClock();
//   int64_t start = clock.NowNanos();
//   VirtualClock virtual_clock;  virtual_clock.Advance(1'500);     // tests and modeled devices
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNanos() const = 0;  // Monotonic; the origin has no meaning.
};

const Clock& RealClock();
inline const Clock& GivenOrRealClock(const Clock* given) { return given != nullptr ? *given : RealClock(); }
void SleepNanos(int64_t nanos);  // Suspends the calling thread, on the real clock. Returns at once if nanos <= 0.

class VirtualClock : public Clock {
 public:
  int64_t NowNanos() const override { return now_.load(); }
  void Advance(int64_t nanos) { now_.fetch_add(nanos); }  // REQUIRES: nanos >= 0.

 private:
  std::atomic<int64_t> now_{0};
};

}  // namespace tessera
