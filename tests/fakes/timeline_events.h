// Selects events of a timeline by their zone, and tests how two events lie to each other.
//
//   for (const TimelineEvent& read : OfZone(timeline.Events(), Zone::kRead)) overlapped += Overlap(read, draft) ? 1 : 0;
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "tessera/base/timeline.h"

namespace tessera {

inline std::vector<TimelineEvent> OfZone(const std::vector<TimelineEvent>& events, Zone zone) {
  std::vector<TimelineEvent> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found), [&](const TimelineEvent& e) { return e.zone == zone; });
  return found;
}

inline bool Within(const TimelineEvent& inner, const TimelineEvent& outer) {
  return inner.begin_ns >= outer.begin_ns && inner.end_ns <= outer.end_ns;
}

inline bool Overlap(const TimelineEvent& a, const TimelineEvent& b) { return a.begin_ns < b.end_ns && b.begin_ns < a.end_ns; }

inline bool OverlapsAny(const TimelineEvent& event, const std::vector<TimelineEvent>& others) {
  return std::any_of(others.begin(), others.end(), [&](const TimelineEvent& other) { return Overlap(event, other); });
}

}  // namespace tessera
