// Time between two readings of a clock, never below 0, even if the clock is set back in between.
//
//   const int64_t begin = clock.NowNanos();
//   seconds += ElapsedSeconds(begin, clock.NowNanos());
//   draft_seconds += ElapsedSeconds(begin_seconds, Seconds());       // readings in seconds
//
// RealClock() never goes back. A clock of the caller should not go back either; a clock that does gives times of 0, and no other wrong
// times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tessera/base/cpp20.h"

namespace tessera {

inline int64_t ElapsedNanos(int64_t begin, int64_t end) {
  if (end <= begin) return 0;
  const uint64_t elapsed = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);   // May be more than an int64_t holds.
  return static_cast<int64_t>(std::min<uint64_t>(elapsed, std::numeric_limits<int64_t>::max()));
}

inline double ElapsedSeconds(int64_t begin_nanos, int64_t end_nanos) {
  return static_cast<double>(ElapsedNanos(begin_nanos, end_nanos)) * 1e-9;
}

inline double ElapsedSeconds(double begin, double end) { return std::max(0.0, end - begin); }

}  // namespace tessera
