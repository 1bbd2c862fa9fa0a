// Standard output and standard error, unbuffered: text appears at once and is not lost.
//
//   RETURN_IF_ERROR(WriteOutput("Hello"));
//   WriteMessage("summary: ...\n");
//
// Results go to standard output, all else to standard error. Either may be a pipe that does not block the writer: the functions then wait
// for the pipe. Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Writes the text. Unavailable with the system's message. If the reader has gone, the process ends, or the call returns Cancelled
// (interrupt.h).
absl::Status WriteOutput(absl::string_view text);

// Writes the text unless `status` is an error already. Puts an error of writing into `status`, and then asks for the end of the work
// (RequestCancel).
void WriteOutputOrCancel(absl::string_view text, absl::Status& status);

// Reports a loss of written bytes that some file systems report only when a file is closed. For the end of a program; standard output stays
// open.
absl::Status FinishOutput();

// Writes the text unchanged, including colours that the program adds. Errors are ignored, since nobody could be told.
void WriteError(absl::string_view text);

// Writes a message to standard error. Escapes all characters that could control a terminal or deceive the reader (Printable), since a
// message may quote a file, a flag, a model or a request.
void WriteMessage(absl::string_view text);

}  // namespace tessera
