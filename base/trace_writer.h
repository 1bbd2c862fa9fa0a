// Writes a timeline as Chrome trace-event JSON, which trace viewers such as Perfetto open.
//
//   RETURN_IF_ERROR(WriteTrace(timeline, "trace.json"));
//
// One track per resource, and a further one where events of a resource overlap without one containing the other (viewers cannot draw that).
// Times are microseconds since the first event began. An event's detail is in its arguments; so are layer, rows, bytes and bound of its
// TimelineWork, which names the event, where there is one. The number of dropped events is in otherData.
// Threads: call when nothing records. Errors: those of WriteTextFile.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/base/timeline.h"

namespace tessera {

absl::Status WriteTrace(const Timeline& timeline, const std::string& path);
std::string TraceJson(const Timeline& timeline);

}  // namespace tessera
