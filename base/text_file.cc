#include "tessera/base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/file_kind.h"
#include "tessera/base/internal/followed_path.h"
#include "tessera/base/internal/output_target.h"
#include "tessera/base/internal/read_to_end.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

using Kind = OutputTarget::Kind;

// Not opened again by its name: that would begin at its first byte, or be impossible (a socket).
Descriptor CopyOf(int descriptor) { return Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

Descriptor OpenWaiting(const std::string& path, int flags) {
  int descriptor;
  while ((descriptor = open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY)) < 0 && errno == EINTR) {}
  return Descriptor(descriptor);
}

absl::Status Sync(int descriptor, const std::string& path) {
  struct stat found;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return absl::OkStatus();
  return fsync(descriptor) == 0 || errno == EINVAL ? absl::OkStatus() : SystemError(path, "sync");
}

// Checks for a cut line: a terminal that takes lines passes on at most kMostOfLine bytes of each line, without notice.
absl::Status CheckNoLineIsCut(int descriptor, const std::string& path, absl::string_view text) {
  constexpr size_t kMostOfLine = 4095;
  termios modes;
  if (tcgetattr(descriptor, &modes) != 0 || (modes.c_lflag & ICANON) == 0) return absl::OkStatus();
  while (!text.empty()) {
    const size_t bytes = text.find('\n');
    if (bytes >= kMostOfLine && text.size() >= kMostOfLine) {
      return absl::DataLossError(absl::StrCat(path, ": found a line of ", kMostOfLine, " bytes or more typed at a terminal, which passes "
                                              "on no more of it; expected shorter lines, or a file or pipe"));
    }
    text.remove_prefix(bytes == absl::string_view::npos ? text.size() : bytes + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputTarget> TargetOf(const std::string& path) { return ResolveOutput(path == "-" ? "/dev/stdout" : path); }

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const FollowedPath end, FollowPath(path == "-" ? "/dev/stdin" : path));
  const mode_t mode = end.found.st_mode;
  if (end.exists && (S_ISDIR(mode) || S_ISBLK(mode) || (S_ISSOCK(mode) && end.descriptor < 0))) {
    return WrongKind(path, KindOfFile(mode), "a regular file");
  }
  if (end.descriptor >= 0 && !IsOpenFor(end.descriptor, /*write=*/false)) {
    return WrongKind(path, "a file that is open, but not for reading", "one that is");
  }
  const Descriptor file = end.descriptor >= 0 ? CopyOf(end.descriptor) : OpenWaiting(path, O_RDONLY);
  if (file.get() < 0) return SystemError(path, "open");
  ASSIGN_OR_RETURN(std::string text, ReadToEnd(file.get(), path, S_ISREG(mode) ? end.found.st_size : 0, max_bytes));
  RETURN_IF_ERROR(CheckNoLineIsCut(file.get(), path, text));
  return text;
}

absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  ASSIGN_OR_RETURN(const OutputTarget target, TargetOf(path));
  if (target.kind == Kind::kFile) return WriteFileAtomically(path, text);
  Descriptor file = target.kind == Kind::kOpen ? CopyOf(target.descriptor) : OpenWaiting(path, O_WRONLY | O_APPEND);
  if (file.get() < 0) return SystemError(path, "open");
  // An open file's position may be before the end (3<>log): the text would overwrite earlier lines.
  struct stat found;
  if (fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && lseek(file.get(), 0, SEEK_END) < 0) return SystemError(path, "move");
  if ((errno = WriteAll(file.get(), text)) != 0) return SystemError(path, "write");
  RETURN_IF_ERROR(Sync(file.get(), path));
  return CloseWritten(file, path);
}

absl::Status CheckTextFileWritable(const std::string& path) {
  ASSIGN_OR_RETURN(const OutputTarget target, TargetOf(path));
  return target.kind == Kind::kFile ? CheckFolder(path, target) : absl::OkStatus();
}

}  // namespace tessera
