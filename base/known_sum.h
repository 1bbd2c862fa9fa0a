// The SHA-256 of a file, cached: the file is read only if it has changed since the last sum.
//
//   ASSIGN_OR_RETURN(const Sha256Sum sum, KnownSha256OfFile("model.gguf", "/home/a/.cache/tessera/sums"));
//
// The folder has a small record for each summed file. The record identifies the file by device, number, size, time of writing and time of
// change. A program may set the time of writing, and a copy may keep that time. No program may set the time of change, and each write,
// rename and chmod changes it. So another file with the same name, size and time of writing is read.
//
// Limits: the clock of the machine, a program that writes to the disk past the file system, and file systems without a time of change
// (FAT). A file that changed within the last two seconds is not recorded, since a second change may have the same time.
//
// Threads: thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/sha256.h"

namespace tessera {

// Returns the sum of a file. Errors: as Sha256OfFile. A folder that cannot be made or written is no error: the file is then read each time.
absl::StatusOr<Sha256Sum> KnownSha256OfFile(const std::string& path, const std::string& folder);

}  // namespace tessera
