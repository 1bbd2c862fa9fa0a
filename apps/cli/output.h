// Standard output and standard error, unbuffered: what is written appears at once and is not lost.
//
//   RETURN_IF_ERROR(WriteOutput("Hello"));
//   WriteError("summary: ...\n");
//
// Results go to standard output, everything else to standard error. Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Unavailable with the system's message. A reader that has gone ends the process (interrupt.h).
absl::Status WriteOutput(absl::string_view text);

// Errors are ignored.
void WriteError(absl::string_view text);

}  // namespace tessera
