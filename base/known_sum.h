// The SHA-256 of a file that may have been summed before: it is read only if it is not the file that it was then.
//
//   ASSIGN_OR_RETURN(const Sha256Sum sum, KnownSha256OfFile("model.gguf", "/home/a/.cache/tessera/sums"));
//
// The folder has a small file for each that was summed, which knows it by what the system says: device, number, size, time of writing and
// time of change. A program may set the time of writing, and a copy may keep it; the time of change it may not set, and each write, rename
// and chmod moves it. So another file with the same name, size and time of writing is read. Limits: the clock of the machine, a program
// that writes to the disk past its file system, and file systems that keep no time of change (FAT). A file that changed within the last two
// seconds is not remembered, since a second change may have the same time. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/sha256.h"

namespace tessera {

// The errors of Sha256OfFile. A folder that cannot be made or written is no error: the file is then read each time.
absl::StatusOr<Sha256Sum> KnownSha256OfFile(const std::string& path, const std::string& folder);

}  // namespace tessera
