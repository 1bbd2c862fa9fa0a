#include "tessera/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat(folder, ": cannot open"));
  while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {}
  const absl::Status status = work();
  close(descriptor);  // Which unlocks it.
  return status;
}

}  // namespace tessera
