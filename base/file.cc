#include "tessera/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The status for errno, which must still be that of the failed call.
absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

class Descriptor {  // Closes a file descriptor when it goes.
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() { if (fd_ >= 0) close(fd_); }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::string_view KindOfFile(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::Status CheckRegular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": found ", KindOfFile(mode), ", expected a regular file"));
}

struct OpenFile {
  Descriptor descriptor;
  int64_t size;
};

absl::StatusOr<OpenFile> OpenRegular(const std::string& path) {
  // Looked at first because opening a device can do something; looked at again once open because it may be another file by then.
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return SystemError(path, "open");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // O_NONBLOCK: a FIFO does not hold us up.
  if (descriptor.get() < 0) return SystemError(path, "open");
  if (fstat(descriptor.get(), &found) != 0) return SystemError(path, "examine");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  return OpenFile{std::move(descriptor), static_cast<int64_t>(found.st_size)};
}

// What an atomic write needs to know of its target.
struct Target {
  std::string directory, name;
  mode_t mode = 0666;          // Of the file that is replaced, else what umask leaves of 0666.
  bool replaces = false;
};

absl::StatusOr<Target> ResolveTarget(std::string path) {
  Target target;
  struct stat found;
  if (lstat(path.c_str(), &found) == 0) {
    if (S_ISLNK(found.st_mode)) {  // The file behind a link is replaced, not the link.
      char* resolved = realpath(path.c_str(), nullptr);
      if (resolved == nullptr) return SystemError(path, "follow the link");
      path = resolved;
      free(resolved);
      if (stat(path.c_str(), &found) != 0) return SystemError(path, "examine");
    }
    RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
    target.mode = found.st_mode & 0777;
    target.replaces = true;
  } else if (errno != ENOENT) {
    return SystemError(path, "examine");
  }
  const size_t slash = path.rfind('/');
  target.directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  target.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (target.name.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": found no file name, expected one"));
  return target;
}

// The temporary file under way, where RemoveTemporaryFile finds it. There is one at a time, since a signal handler can follow neither
// a lock nor memory that another thread gives back.
std::mutex one_write_at_a_time;
std::atomic<int> temporary_directory{-1};   // The folder's descriptor; -1: there is no file.
char temporary_name[64];                    // Written only while there is no file.
std::atomic<bool> process_ends{false};

void UnlinkTemporary() {
  const int directory = temporary_directory;
  if (directory >= 0) unlinkat(directory, temporary_name, 0);
}

// A file of its own in `directory`, under a name nobody else has: O_EXCL neither follows a link nor opens what is there.
absl::StatusOr<Descriptor> CreateTemporary(const Descriptor& directory, const std::string& path, mode_t mode) {
  static int64_t counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::snprintf(temporary_name, sizeof(temporary_name), ".tessera-%d-%lld.tmp", static_cast<int>(getpid()),
                  static_cast<long long>(counter++));
    temporary_directory = directory.get();  // Before there is a file, and process_ends is looked at after: one of both sees it.
    Descriptor file(openat(directory.get(), temporary_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    const int error = errno;
    if (file.get() >= 0) {
      if (process_ends) UnlinkTemporary();
      return file;
    }
    temporary_directory = -1;
    errno = error;
    if (errno != EEXIST) break;
  }
  return SystemError(path, "create a temporary file beside it");
}

absl::Status WriteAll(const Descriptor& file, const std::string& path, absl::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path, "write");
    contents.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status WriteTemporary(const Descriptor& file, const std::string& path, const Target& target, absl::string_view contents) {
  RETURN_IF_ERROR(WriteAll(file, path, contents));
  if (target.replaces && fchmod(file.get(), target.mode) != 0) return SystemError(path, "keep the file's mode");
  if (fsync(file.get()) != 0) return SystemError(path, "sync");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(OpenFile file, OpenRegular(path));
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, file.descriptor.Release(), file.size));
}

RandomAccessFile::~RandomAccessFile() { close(descriptor_); }

absl::Status RandomAccessFile::Read(int64_t offset, absl::Span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path_, absl::StrCat("read ", out.size(), " bytes at byte ", offset));
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": the file ends before byte ", offset, ", expected ", out.size(),
                                              " bytes more: it had ", size_, " bytes when it was opened"));
    }
    offset += got;
    out.remove_prefix(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const OpenFile file, OpenRegular(path));
  const auto too_large = [&](absl::string_view found) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": file size: found ", found, ", expected at most ", max_bytes, " bytes"));
  };
  if (file.size > max_bytes) return too_large(absl::StrCat(file.size, " bytes"));
  // Read to the end, wherever the size said it was: the file may grow, and files in /proc say 0.
  std::string contents(file.size + 1, '\0');
  int64_t filled = 0;
  while (true) {
    const ssize_t got = read(file.descriptor.get(), contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "read");
    if (got == 0) break;
    filled += got;
    if (filled > max_bytes) return too_large("more");
    if (filled == static_cast<int64_t>(contents.size())) contents.resize(2 * contents.size() + 4096);
  }
  contents.resize(filled);
  return contents;
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents) {
  const std::lock_guard<std::mutex> lock(one_write_at_a_time);
  ASSIGN_OR_RETURN(const Target target, ResolveTarget(path));
  // Opened first: after the rename it could be too late to learn that the directory cannot be synced.
  const Descriptor directory(open(target.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return SystemError(path, absl::StrCat("open its directory ", target.directory));
  ASSIGN_OR_RETURN(const Descriptor file, CreateTemporary(directory, path, target.mode));
  absl::Status status = WriteTemporary(file, path, target, contents);
  if (status.ok() && renameat(directory.get(), temporary_name, directory.get(), target.name.c_str()) != 0) {
    status = SystemError(path, "put the new file in place");
  }
  if (!status.ok()) UnlinkTemporary();
  temporary_directory = -1;
  RETURN_IF_ERROR(status);
  if (fsync(directory.get()) != 0 && errno != EINVAL) return SystemError(path, "sync its directory");  // EINVAL: it has no sync.
  return absl::OkStatus();
}

void RemoveTemporaryFile() {
  process_ends = true;
  UnlinkTemporary();
}

absl::Status CheckWritable(const std::string& path) {
  ASSIGN_OR_RETURN(const Target target, ResolveTarget(path));
  if (access(target.directory.c_str(), R_OK | W_OK | X_OK) == 0) return absl::OkStatus();
  return SystemError(path, absl::StrCat("write to its directory ", target.directory));
}

}  // namespace tessera
