// Writes a timeline as Chrome trace-event JSON, which trace viewers such as Perfetto open.
//
//   RETURN_IF_ERROR(WriteTrace(timeline, "trace.json"));
//
// The trace has one track per resource. If events of a resource overlap and neither contains the other, a further track is added (viewers
// cannot draw such overlaps). Times are microseconds since the first event began. An event's detail is in its arguments. With a
// TimelineWork, the work names the event, and layer, rows, bytes and bound are in the arguments. The number of dropped events is in
// otherData.
//
// Threads: call when no thread records.
// Errors: as WriteTextFile.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/base/timeline.h"

namespace tessera {

absl::Status WriteTrace(const Timeline& timeline, const std::string& path);
std::string TraceJson(const Timeline& timeline);

}  // namespace tessera
