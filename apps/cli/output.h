// Standard output and standard error, unbuffered: what was written is seen at once and is not lost.
//
//   RETURN_IF_ERROR(WriteOutput("Hello"));
//   WriteError("summary: ...\n");
//
// Results go to standard output, everything else to standard error. Thread-safe.
#pragma once

#include <gflags/gflags_declare.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

DECLARE_bool(json);   // A result as JSON: every program has it.

namespace tessera {

// Unavailable with the system's words. A reader that has gone ends the process (interrupt.h).
absl::Status WriteOutput(absl::string_view text);

// Whether it arrives or not.
void WriteError(absl::string_view text);

}  // namespace tessera
