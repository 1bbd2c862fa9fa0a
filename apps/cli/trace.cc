#include "tessera/apps/cli/trace.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_checks.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/trace_writer.h"
#include "tessera/base/usage_error.h"

DEFINE_string(trace, "", "FILE|Write a timeline of the run to this file, for a trace viewer such as Perfetto.");

namespace tessera {
namespace {

// A generation of 1000 tokens by 30 layers has some 65,000 events of 32 bytes each.
constexpr int64_t kTraceEvents = 1 << 20;

}  // namespace

absl::StatusOr<Trace> Trace::OfFlag() {
  RETURN_IF_ERROR(CheckFlagWritable("trace", FLAGS_trace));
  Trace trace;
  if (!FLAGS_trace.empty()) trace.timeline_ = std::make_unique<Timeline>(Timeline::Options{.capacity = kTraceEvents});
  return trace;
}

absl::Status Trace::Finish(const absl::Status& status) const {
  if (timeline_ == nullptr) return status;
  if (timeline_->dropped() > 0) {
    WriteError(absl::StrCat("trace: the first ", kTraceEvents, " events are in the file, ", timeline_->dropped(), " are not\n"));
  }
  const absl::Status written = ForField("trace", WriteTrace(*timeline_, FLAGS_trace));
  return status.ok() ? written : status;
}

}  // namespace tessera
