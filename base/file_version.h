// Whether a file is still the one that was read, so that what another process wrote there meanwhile is not replaced.
//
//   ASSIGN_OR_RETURN(FileVersion version, FileVersion::Of("story.session"));        // before it is read; that there is none counts, too
//   ... long work ...
//   RETURN_IF_ERROR(version.Replace([&] { return WriteFileAtomically("story.session", text); }));
//
// A file is known by its device, number, size and time of writing. Where several processes read one version and replace it by this, one
// does, and the others have an error, whatever links they name it by. A writer that does not ask is seen if it wrote before.
// Thread-compatible.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/folder_lock.h"

namespace tessera {

class FileVersion {
 public:
  // Follows links. The system's error for what cannot be examined.
  static absl::StatusOr<FileVersion> Of(const std::string& path);

  // What `write` returns, which puts a new file there: that is the version from now on. FailedPrecondition (path) without a call of it if
  // the file is another by now; Unavailable (path, folder) if another process keeps the file's folder locked for longer than the wait.
  // REQUIRES: `write` does not lock the file's folder (folder_lock.h).
  absl::Status Replace(absl::FunctionRef<absl::Status()> write, const LockWait& wait = {});

 private:
  FileVersion() = default;
  bool operator==(const FileVersion&) const = default;

  std::string path_, folder_;   // The folder of what links lead to.
  bool exists_ = false;
  unsigned long device_ = 0, number_ = 0;
  long long size_ = 0, seconds_ = 0, nanoseconds_ = 0;
};

}  // namespace tessera
