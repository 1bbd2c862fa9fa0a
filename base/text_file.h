// Texts that a person names by a path, whatever kind of file that is: docs/files_in_and_out.md has the table.
//
//   RETURN_IF_ERROR(CheckTextFileWritable("trace.json"));                                   // before long work
//   ASSIGN_OR_RETURN(const std::string prompt, ReadTextFile("/dev/stdin", 1 << 20));
//   RETURN_IF_ERROR(WriteTextFile("trace.json", text));
//
// A regular file, or a new one, is written atomically (file.h); a link stays, and what it leads to is written. What this process, or
// another, has open (/dev/stdout, /proc/PID/fd/N, a log to which standard output goes, by any name) is never replaced: the text is added to
// it. FIFOs and devices that take bytes one after another (terminals, /dev/null) are read to their end, and written; a FIFO waits for its
// other side. "-" is standard input or output; "./-" is a file of that name. Folders, sockets and disks are InvalidArgument with what was
// found. Other errors are the system's, with the path. Thread-safe; a descriptor that two read has one place.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// ResourceExhausted if there are more than max_bytes; DataLoss for a line of a terminal that was cut (4,095 bytes).
absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t max_bytes);

absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// OK if WriteTextFile could write there now, or the error that it would return. Opens nothing.
absl::Status CheckTextFileWritable(const std::string& path);

}  // namespace tessera
