#include "tessera/base/internal/output_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/file_kind.h"
#include "tessera/base/internal/followed_path.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

using Kind = OutputTarget::Kind;

// Asks faccessat for the effective user. A container may refuse this call, as it refuses all calls that it does not know; then asks for the
// real user.
bool MayUse(const std::string& path, int ways) {
  if (faccessat(AT_FDCWD, path.c_str(), ways, AT_EACCESS) == 0) return true;
  return (errno == EPERM || errno == ENOSYS) && access(path.c_str(), ways) == 0;
}

absl::Status CheckMayWrite(const std::string& path) {
  return MayUse(path, W_OK) ? absl::OkStatus() : SystemError(path, "write");
}

bool IsMountPoint(const std::string& path) {
  struct statx found;
  return statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &found) == 0 && (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

absl::StatusOr<OutputTarget> FileTarget(const std::string& path, const FollowedPath& end) {
  OutputTarget target;
  const size_t slash = end.path.rfind('/');
  target.directory = slash == std::string::npos ? "." : end.path.substr(0, slash + 1);
  target.name = slash == std::string::npos ? end.path : end.path.substr(slash + 1);
  if (target.name.empty()) return WrongKind(path, "no file name", "one");
  target.replaces = end.exists;
  if (!end.exists) return target;
  RETURN_IF_ERROR(CheckMayWrite(path));
  if (IsMountPoint(end.path)) return WrongKind(path, "a mount point, which nothing can replace", "another file");
  target.mode = end.found.st_mode & 0777;
  return target;
}

}  // namespace

absl::StatusOr<OutputTarget> ResolveOutput(const std::string& path) {
  ASSIGN_OR_RETURN(const FollowedPath end, FollowPath(path));
  if (!end.exists) return FileTarget(path, end);
  const mode_t mode = end.found.st_mode;
  if (S_ISDIR(mode)) return WrongKind(path, KindOfFile(mode), "a file");
  const int open = end.descriptor >= 0 ? end.descriptor : S_ISREG(mode) ? OpenForWriting(end.found) : -1;
  if (open >= 0) {
    if (!IsOpenFor(open, /*write=*/true)) return WrongKind(path, "a file that is open, but not for writing", "one that is");
    return OutputTarget{.kind = Kind::kOpen, .descriptor = open};
  }
  if (S_ISREG(mode) && !end.into_proc) return FileTarget(path, end);
  if (S_ISSOCK(mode) || S_ISBLK(mode)) return WrongKind(path, KindOfFile(mode), "a file");
  RETURN_IF_ERROR(CheckMayWrite(path));
  return OutputTarget{.kind = Kind::kStream};
}

absl::StatusOr<OutputTarget> ResolveOwnFile(const std::string& path) {
  ASSIGN_OR_RETURN(const FollowedPath end, FollowPath(path));
  if (end.exists) RETURN_IF_ERROR(CheckRegular(path, end.found.st_mode));
  ASSIGN_OR_RETURN(OutputTarget target, ResolveOutput(path));
  if (target.kind == Kind::kFile) return target;
  return WrongKind(path, "a file to which this or another program writes", "one of its own");
}

absl::Status CheckFolder(const std::string& path, const OutputTarget& target) {
  if (MayUse(target.directory, R_OK | W_OK | X_OK)) return absl::OkStatus();
  return SystemError(path, absl::StrCat("write to its directory ", target.directory));
}

}  // namespace tessera
