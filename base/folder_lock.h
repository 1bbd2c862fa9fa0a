// Lets one thread at a time, among all threads and processes that ask, read files of a folder and write them again.
//
//   RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
//
// A process that dies releases the folder. One that lives and keeps it is waited for, but not for ever. Threads of one process have the
// folder in the order in which they came. A writer that does not ask for the lock is not kept out; where the file system has no locks
// (flock), no writer is. Thread-safe.
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
  const Clock* clock = nullptr;                 // The clock that this is counted by. Null: the real one.
  // Ends the wait when it becomes true; one that is true before the wait asks for the end of other work. Null: nothing does.
  const std::atomic<bool>* cancel = nullptr;
};

// Returns the status of `work`, or the error of opening the folder; "" is the current folder. Unavailable (folder, holder where the system
// tells it) without a call of `work` if another thread or process keeps the folder locked for longer than the wait. REQUIRES: `work` does
// not lock the same folder.
absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work, const LockWait& wait = {});

}  // namespace tessera
