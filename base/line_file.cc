#include "tessera/base/line_file.h"

#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/internal/is_refusal.h"
#include "tessera/base/internal/lock_holder.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

absl::Status Failed(const std::string& path, absl::string_view what, int error = errno) {
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot ", what));
}

// Waits until the name of a new file is on the disk.
absl::Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES ? absl::OkStatus() : Failed(path, "open the folder of");   // The folder may be write-only.
  const int error = fsync(descriptor) == 0 || IsRefusal(errno) ? 0 : errno;   // The folder may have no sync.
  close(descriptor);
  return error == 0 ? absl::OkStatus() : Failed(path, "sync the folder of", error);
}

}  // namespace

absl::StatusOr<LineFile> LineFile::Open(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK;   // Not to wait for a FIFO.
  int descriptor = open(path.c_str(), kFlags);
  const bool is_new = descriptor < 0 && errno == ENOENT;
  if (is_new) descriptor = open(path.c_str(), kFlags | O_CREAT, 0666);
  if (descriptor < 0) return Failed(path, "open");
  LineFile file(path, descriptor);
  ASSIGN_OR_RETURN(const bool is_locked, file.Lock());
  struct stat about;
  if (fstat(descriptor, &about) != 0) return Failed(path, "examine");
  if (about.st_nlink == 0) return Open(path);   // Another run has removed the file since this process opened it.
  file.is_unused_ = is_new && is_locked;
  if (is_new) RETURN_IF_ERROR(SyncFolderOf(path));
  return file;
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), is_unused_(other.is_unused_),
      whole_bytes_(other.whole_bytes_), rest_(std::move(other.rest_)) {}

LineFile::~LineFile() {
  if (descriptor_ < 0) return;
  if (is_unused_) RemoveIfEmpty();
  close(descriptor_);
}

void LineFile::RemoveIfEmpty() const {
  struct stat opened, named;   // The name may lead to another file by now, or be a link.
  if (fstat(descriptor_, &opened) != 0 || lstat(path_.c_str(), &named) != 0) return;
  if (opened.st_size == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) unlink(path_.c_str());
}

absl::StatusOr<bool> LineFile::Lock() const {
  struct stat about;
  if (fstat(descriptor_, &about) != 0) return Failed(path_, "examine");
  if (!S_ISREG(about.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path_, ": found no regular file, expected one"));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == ENOLCK || IsRefusal(errno)) return false;
  if (errno != EWOULDBLOCK) return Failed(path_, "lock");
  const std::optional<std::string> holder = OtherHolderOf(descriptor_);
  return absl::FailedPreconditionError(absl::StrCat(path_, ": found another run that adds to it, expected none",
                                                    holder.has_value() ? absl::StrCat("; ", *holder, " has it") : ""));
}

absl::Status LineFile::ForEachLine(absl::FunctionRef<absl::Status(absl::string_view line, int64_t number)> read) {
  std::string bytes(kReadBytes, '\0'), line;
  int64_t number = 0, offset = 0;
  while (true) {
    const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(path_, "read");
    if (count == 0) break;
    offset += count;
    absl::string_view left(bytes.data(), static_cast<size_t>(count));
    for (size_t end; (end = left.find('\n')) != absl::string_view::npos; left.remove_prefix(end + 1)) {
      line.append(left.data(), end);
      RETURN_IF_ERROR(read(line, ++number));
      line.clear();
    }
    line.append(left.data(), left.size());
    if (static_cast<int64_t>(line.size()) > kLongestLine) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ", line ", number + 1, ": found over ", line.size(), " bytes, expected at most ", kLongestLine));
    }
  }
  whole_bytes_ = offset - static_cast<int64_t>(line.size());
  rest_ = std::move(line);
  return absl::OkStatus();
}

absl::Status LineFile::Cut() const {
  return ftruncate(descriptor_, static_cast<off_t>(whole_bytes_)) == 0 ? absl::OkStatus() : Failed(path_, "cut off half a line of");
}

absl::Status LineFile::CutRest() {
  if (rest_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(Cut());
  rest_.clear();
  return absl::OkStatus();
}

absl::Status LineFile::EndRest() {
  if (const int error = WriteAll(descriptor_, "\n"); error != 0) return Failed(path_, "write", error);
  whole_bytes_ += static_cast<int64_t>(rest_.size()) + 1;
  rest_.clear();
  return absl::OkStatus();
}

absl::Status LineFile::Append(absl::string_view line) {
  is_unused_ = false;
  const std::string whole = absl::StrCat(line, "\n");
  if (const int error = WriteAll(descriptor_, whole); error != 0) {
    Cut().IgnoreError();   // Else the next run does.
    return Failed(path_, "write", error);
  }
  whole_bytes_ += static_cast<int64_t>(whole.size());
  return absl::OkStatus();
}

absl::Status LineFile::Sync() {
  is_unused_ = false;
  return fdatasync(descriptor_) == 0 ? absl::OkStatus() : Failed(path_, "sync");
}

}  // namespace tessera
