#include "tessera/base/internal/followed_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kMostLinks = 40;  // The kernel's limit.

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// N for the names of this process's descriptor N; -1 for any other path.
int DescriptorNamedBy(absl::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const std::string own = absl::StrCat("/proc/", getpid(), "/fd/");
  for (absl::string_view folder : {absl::string_view("/dev/fd/"), absl::string_view("/proc/self/fd/"),
                                   absl::string_view("/proc/thread-self/fd/"), absl::string_view(own)}) {
    absl::string_view number = path;
    int descriptor;
    if (absl::ConsumePrefix(&number, folder) && absl::SimpleAtoi(number, &descriptor) && descriptor >= 0) return descriptor;
  }
  return -1;
}

bool LiesInProc(const std::string& path) {
  struct statfs system;
  const std::string folder = FolderOf(path);
  return statfs(folder.empty() ? "." : folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// /proc/self and /proc/thread-self are links like any other; links to open files are not.
bool IsLinkToOpenFile(const std::string& link, const struct stat& found) {
  return LiesInProc(link) && !S_ISDIR(found.st_mode);
}

absl::StatusOr<std::string> TextOfLink(const std::string& link) {
  char text[PATH_MAX];
  const ssize_t bytes = readlink(link.c_str(), text, sizeof(text));
  if (bytes < 0) return SystemError(link, "follow the link");
  const std::string target(text, bytes);
  return target[0] == '/' ? target : absl::StrCat(FolderOf(link), target);
}

}  // namespace

bool IsOpenFor(int descriptor, bool write) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0) return false;
  const int mode = flags & O_ACCMODE;
  return mode == O_RDWR || mode == (write ? O_WRONLY : O_RDONLY);
}

bool IsSameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

int OpenForWriting(const struct stat& file) {
  constexpr int kMostLooked = 1024;  // Used without /proc. A person who redirects uses small numbers.
  const auto is_it = [&](int descriptor, const struct stat& open_file) {
    return IsSameFile(open_file, file) && IsOpenFor(descriptor, /*write=*/true);
  };
  struct stat open_file;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) {
    for (int descriptor = 0; descriptor < kMostLooked; ++descriptor) {
      if (fstat(descriptor, &open_file) == 0 && is_it(descriptor, open_file)) return descriptor;
    }
    return -1;
  }
  // By name, not by descriptor: other threads may close theirs meanwhile.
  while (const dirent* const entry = readdir(folder.get())) {
    int descriptor;
    if (!absl::SimpleAtoi(entry->d_name, &descriptor)) continue;
    if (fstatat(dirfd(folder.get()), entry->d_name, &open_file, 0) == 0 && is_it(descriptor, open_file)) return descriptor;
  }
  return -1;
}

absl::StatusOr<FollowedPath> FollowPath(const std::string& path) {
  FollowedPath end{.path = path};
  if (path.empty()) return absl::InvalidArgumentError("found no file name, expected one");
  for (int links = 0; links <= kMostLinks; ++links) {
    end.descriptor = DescriptorNamedBy(end.path);
    if (end.descriptor >= 0) {
      end.exists = true;
      return fstat(end.descriptor, &end.found) == 0 ? absl::StatusOr<FollowedPath>(end) : SystemError(path, "examine");
    }
    struct stat name;
    if (lstat(end.path.c_str(), &name) != 0) {
      return errno == ENOENT ? absl::StatusOr<FollowedPath>(end) : SystemError(path, "examine");
    }
    end.exists = stat(end.path.c_str(), &end.found) == 0;
    if (!S_ISLNK(name.st_mode)) return end;
    end.into_proc = end.exists && IsLinkToOpenFile(end.path, end.found);
    if (end.into_proc) return end;
    ASSIGN_OR_RETURN(end.path, TextOfLink(end.path));
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": found more than ", kMostLinks, " links one after another, expected fewer"));
}

}  // namespace tessera
