// --trace: a timeline of the run.
//
//   ASSIGN_OR_RETURN(const Trace trace, Trace::OfFlag());                 // records if --trace is given
//   ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ...
//   return trace.Finish(status);
//
// Threads: one at a time.
#pragma once

#include <memory>

#include <gflags/gflags_declare.h>

#include "absl/status/statusor.h"
#include "tessera/base/timeline.h"

DECLARE_string(trace);

namespace tessera {

class Trace {
 public:
  // WrongUsage if the file cannot be written: that is said before all the work.
  static absl::StatusOr<Trace> OfFlag();

  Timeline* timeline() const { return timeline_.get(); }  // Null without --trace.

  // Writes the trace's file and gives `status` back or, if that is OK, what writing gave. Says on stderr if events were dropped.
  absl::Status Finish(const absl::Status& status) const;

 private:
  Trace() = default;
  std::unique_ptr<Timeline> timeline_;
};

}  // namespace tessera
