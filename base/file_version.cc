#include "tessera/base/file_version.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/internal/followed_path.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<FileVersion> FileVersion::Of(const std::string& path) {
  ASSIGN_OR_RETURN(const FollowedPath end, FollowPath(path));
  FileVersion version;
  version.path_ = path;
  const size_t slash = end.path.rfind('/');
  version.folder_ = slash == std::string::npos ? "" : end.path.substr(0, slash + 1);
  version.exists_ = end.exists;
  if (!end.exists) return version;
  version.device_ = end.found.st_dev;
  version.number_ = end.found.st_ino;
  version.size_ = end.found.st_size;
  version.seconds_ = end.found.st_mtim.tv_sec;
  version.nanoseconds_ = end.found.st_mtim.tv_nsec;
  return version;
}

absl::Status FileVersion::Replace(absl::FunctionRef<absl::Status()> write, const LockWait& wait) {
  bool locked = false;
  const auto replace = [&]() -> absl::Status {
    locked = true;
    ASSIGN_OR_RETURN(const FileVersion now, Of(path_));
    if (!(now == *this)) {
      const char* const expected = exists_ ? "the one that was read" : "none, as in the beginning";
      const std::string found = now.exists_ ? "a file written by another run meanwhile" : "no file: another run took it away meanwhile";
      return absl::FailedPreconditionError(absl::StrCat(path_, ": found ", found, ", expected ", expected));
    }
    RETURN_IF_ERROR(write());
    ASSIGN_OR_RETURN(*this, Of(path_));
    return absl::OkStatus();
  };
  const absl::Status status = WithFolderLocked(folder_, replace, wait);
  return locked ? status : absl::Status(status.code(), absl::StrCat(path_, ": not written: ", status.message()));
}

}  // namespace tessera
