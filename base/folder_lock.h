// One at a time reads files of a folder and writes them again, of all threads and processes that ask for it.
//
//   RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
//
// Whoever dies gives the folder back. A writer that does not ask is not kept out, and neither is one where the file system has no locks
// (flock). Thread-safe.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// What `work` returns, or the error of opening the folder; "" is the current one. REQUIRES: `work` does not lock the same folder.
absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work);

}  // namespace tessera
