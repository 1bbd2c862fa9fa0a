// Standard output and standard error, unbuffered: what is written appears at once and is not lost.
//
//   RETURN_IF_ERROR(WriteOutput("Hello"));
//   WriteMessage("summary: ...\n");
//
// Results go to standard output, everything else to standard error. Either may be a pipe that does not block its writer: it is waited for.
// Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Unavailable with the system's message. A reader that has gone ends the process, or is Cancelled (interrupt.h).
absl::Status WriteOutput(absl::string_view text);

// Writes the text unless `status` is an error already, and puts the error of writing there; then the end of what is written is asked for
// (RequestCancel).
void WriteOutputOrCancel(absl::string_view text, absl::Status& status);

// Some file systems say only when a file is closed that what was written to it is lost. For the end of a program; nothing is closed.
absl::Status FinishOutput();

// Errors are ignored: nobody could be told. The text is written as it is, with the colours that the program itself puts there.
void WriteError(absl::string_view text);

// Writes a message to standard error, with what could control a terminal or deceive its reader escaped (Printable): it may quote a file, a
// flag, a model or a request.
void WriteMessage(absl::string_view text);

}  // namespace tessera
