// The version of a file that was read, so that a later write does not replace another process's writes.
//
//   ASSIGN_OR_RETURN(FileVersion version, FileVersion::Of("story.session"));        // before it is read; that there is none counts, too
//   ... long work ...
//   RETURN_IF_ERROR(version.Replace([&] { return WriteFileAtomically("story.session", text); }));
//
// A version is the file's device, number, size and time of writing. If several processes read one version and call Replace, one succeeds
// and the others return an error, also if links name the file. A writer that does not use FileVersion is detected if that writer wrote
// before the Replace. Thread-compatible.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/folder_lock.h"

namespace tessera {

class FileVersion {
 public:
  // Returns the version of the file at `path`; follows links. The system's error if the file cannot be examined.
  static absl::StatusOr<FileVersion> Of(const std::string& path);

  // Calls `write`, which puts a new file there, and returns its status. The new file is the version from now on. FailedPrecondition (path),
  // without a call of `write`, if the file has changed. Unavailable (path, folder), without a call, if another process keeps the file's
  // folder locked for longer than the wait. REQUIRES: `write` does not lock the file's folder (folder_lock.h).
  absl::Status Replace(absl::FunctionRef<absl::Status()> write, const LockWait& wait = {});

 private:
  FileVersion() = default;
  bool operator==(const FileVersion&) const = default;

  std::string path_, folder_;   // The folder of the file at the end of links.
  bool exists_ = false;
  unsigned long device_ = 0, number_ = 0;
  long long size_ = 0, seconds_ = 0, nanoseconds_ = 0;
};

}  // namespace tessera
