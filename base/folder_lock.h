// Lets one thread at a time, among all threads and processes that ask, read files of a folder and write them again.
//
//   RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
//
// A process that dies releases the folder. A writer that does not ask for the lock is not kept out; where the file system has no locks
// (flock), no writer is. Thread-safe.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns what `work` returns, or the error of opening the folder; "" is the current folder. REQUIRES: `work` does not lock the same
// folder.
absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work);

}  // namespace tessera
