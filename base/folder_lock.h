// Serializes work on the files of a folder among all threads and processes that use this lock: read files, then write them again.
//
//   RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
//
// A process that dies releases the folder. A living process that keeps the folder is waited for, but not for ever. Threads of one process
// get the folder in the order of their requests. The lock does not stop a writer that does not ask for the lock. If the file system has no
// locks (flock), no writer is stopped. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct LockWait {
  int64_t most_nanos = 2'000'000'000;
  const Clock* clock = nullptr;                 // Measures the wait. Null: the real clock.
  // Ends the wait when `cancel` becomes true. A `cancel` that is true before the wait requests the end of other work and is ignored. Null:
  // nothing ends the wait early.
  const std::atomic<bool>* cancel = nullptr;
};

// Calls `work` with the folder locked and returns the status of `work`. "" is the current folder. Returns an error if the folder cannot be
// opened. Unavailable (folder, holder if the system tells), without a call of `work`, if another thread or process keeps the folder locked
// for longer than the wait. REQUIRES: `work` does not lock the same folder.
absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work, const LockWait& wait = {});

}  // namespace tessera
