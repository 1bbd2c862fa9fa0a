// Texts that a person names by a path, for every kind of file: docs/files_in_and_out.md has the table.
//
//   RETURN_IF_ERROR(CheckTextFileWritable("trace.json"));                                   // before long work
//   ASSIGN_OR_RETURN(const std::string prompt, ReadTextFile("/dev/stdin", 1 << 20));
//   RETURN_IF_ERROR(WriteTextFile("trace.json", text));
//
// A regular file, or a new file, is written atomically (file.h). A link stays, and its target is written. A file that this or another
// process has open is never replaced: the text is appended (/dev/stdout, /proc/PID/fd/N, a log that receives standard output, by any name).
// FIFOs and sequential devices (terminals, /dev/null) are read to the end, and written; a FIFO waits for the other side. "-" is standard
// input or output; "./-" is a file of that name.
//
// Errors: folders, sockets and disks are InvalidArgument with the kind found. Other errors are the system's, with the path.
//
// Threads: thread-safe; two readers of one descriptor share one position.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Reads a text. ResourceExhausted if there are more than max_bytes; DataLoss for a line of a terminal that was cut (4,095 bytes).
absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t max_bytes);

absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// Returns OK if WriteTextFile could write there now, else the error that WriteTextFile would return. Opens nothing.
absl::Status CheckTextFileWritable(const std::string& path);

}  // namespace tessera
