#include "tessera/apps/lab/scale/sandbox/open_files.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

constexpr int kLowestNumber = 10;        // Files here have this descriptor or a higher one, so a child's descriptors stay free.

absl::Status SystemError(const char* call) { return absl::ErrnoToStatus(errno, call); }

// Returns the same file with another descriptor. `call` opened the file.
absl::StatusOr<OpenFile> Moved(OpenFile low, const char* call) {
  if (!low.is_open()) return SystemError(call);
  OpenFile moved(fcntl(low.number(), F_DUPFD_CLOEXEC, kLowestNumber));
  if (!moved.is_open()) return SystemError("fcntl(F_DUPFD_CLOEXEC)");
  return moved;
}

}  // namespace

absl::StatusOr<Pipe> NewPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe");
  OpenFile reader(ends[0]), writer(ends[1]);
  Pipe pipe;
  ASSIGN_OR_RETURN(pipe.reader, Moved(std::move(reader), "pipe"));
  ASSIGN_OR_RETURN(pipe.writer, Moved(std::move(writer), "pipe"));
  return pipe;
}

absl::Status ReadWithoutWaiting(const OpenFile& file) {
  return fcntl(file.number(), F_SETFL, O_NONBLOCK) == 0 ? absl::OkStatus() : SystemError("fcntl(F_SETFL)");
}

absl::StatusOr<OpenFile> InputFile(const std::string& text) {
  ASSIGN_OR_RETURN(OpenFile file, Moved(OpenFile(memfd_create("input", MFD_CLOEXEC)), "memfd_create"));
  if (const int error = WriteAll(file.number(), text); error != 0) return absl::ErrnoToStatus(error, "write");
  if (lseek(file.number(), 0, SEEK_SET) != 0) return SystemError("lseek");
  return file;
}

absl::StatusOr<OpenFile> NamelessFolder() {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = absl::StrCat(parent == nullptr || *parent == '\0' ? "/tmp" : parent, "/tessera_XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot make this folder"));
  absl::StatusOr<OpenFile> folder = Moved(OpenFile(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), "open");
  if (rmdir(path.c_str()) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot remove this folder"));
  return folder;
}

}  // namespace tessera
