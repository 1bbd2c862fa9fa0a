// Finds events that no clock can show: two events of one resource that overlap without one containing the other, or an event that ends
// before its begin.
//
//   EXPECT_EQ(DoubleBooking(timeline.Events()), "");
//
// Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/timeline.h"

namespace tessera {

// Returns the first such event. If `nested` is false, also events of one resource where one contains the other. Empty: none.
inline std::string DoubleBooking(const std::vector<TimelineEvent>& events, bool nested = false) {
  const auto show = [](const TimelineEvent& event) {
    return absl::StrCat(ResourceName(event.resource), " ", ZoneName(event.zone), " ", event.begin_ns, " to ", event.end_ns);
  };
  for (size_t i = 0; i < events.size(); ++i) {
    const TimelineEvent& a = events[i];
    if (a.end_ns < a.begin_ns || a.begin_ns < 0) return absl::StrCat("goes back: ", show(a));
    for (size_t j = 0; j < i; ++j) {
      const TimelineEvent& b = events[j];
      const bool apart = a.resource != b.resource || a.begin_ns >= b.end_ns || b.begin_ns >= a.end_ns;
      const bool inside = (a.begin_ns >= b.begin_ns && a.end_ns <= b.end_ns) || (b.begin_ns >= a.begin_ns && b.end_ns <= a.end_ns);
      if (!apart && !(nested && inside)) return absl::StrCat("booked twice: ", show(b), ", ", show(a));
    }
  }
  return "";
}

}  // namespace tessera
