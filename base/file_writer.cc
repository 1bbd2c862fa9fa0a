// Files written whole or not at all.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/is_refusal.h"
#include "tessera/base/internal/output_target.h"
#include "tessera/base/internal/temporary_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

// The temporary files under way, where RemoveTemporaryFiles finds them: a signal handler can follow neither a lock nor memory
// that another thread gives back.
struct Temporary {
  std::atomic<pid_t> process{0};    // The process that owns the file: a forked process has the parent's entry here, too.
  std::atomic<int> directory{-1};   // The folder's descriptor; -1: there is no file.
  char name[kLongestTemporaryName + 1];   // Written only while there is no file.
  bool taken = false;               // Guarded by temporaries_mutex.
};
Temporary temporaries[AtomicFileWriter::kMostAtOnce];
std::mutex temporaries_mutex;
std::atomic<bool> process_ends{false};

void Unlink(const Temporary& temporary) {
  const int directory = temporary.directory;
  if (directory >= 0 && temporary.process == getpid()) unlinkat(directory, temporary.name, 0);
}

Temporary* TakeTemporary() {  // Null: all are taken.
  const std::lock_guard<std::mutex> lock(temporaries_mutex);
  for (Temporary& temporary : temporaries) {
    if (!std::exchange(temporary.taken, true)) return &temporary;
  }
  return nullptr;
}

void GiveBack(Temporary& temporary) {
  const std::lock_guard<std::mutex> lock(temporaries_mutex);
  temporary.directory = -1;
  temporary.taken = false;
}

// Takes the lock that distinguishes an active temporary file from a stale one. Returns false if a search for stale files locked the file
// between creating and locking. On a file system without locks, stale files cannot be recognized.
bool LockOwn(const Descriptor& file) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat found;
  return fstat(file.get(), &found) != 0 || found.st_nlink > 0;
}

// Removes files that killed writers left in the folder. A living writer has a lock on its file. If the file system has no locks, living and
// dead writers look alike, and all files stay.
void RemoveStale(const Descriptor& directory) {
  const int listed = openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);   // Which has a place of its own.
  DIR* const folder = listed < 0 ? nullptr : fdopendir(listed);
  if (folder == nullptr) {
    if (listed >= 0) close(listed);
    return;
  }
  while (const dirent* entry = readdir(folder)) {
    if (!IsTemporaryName(entry->d_name)) continue;
    const Descriptor file(openat(listed, entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat opened, named;
    if (file.get() < 0 || flock(file.get(), LOCK_EX | LOCK_NB) != 0 || fstat(file.get(), &opened) != 0) continue;
    // The file's writer may have put the file in place since the listing, and another writer may have taken the name.
    if (!S_ISREG(opened.st_mode) || fstatat(listed, entry->d_name, &named, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (named.st_ino == opened.st_ino && named.st_dev == opened.st_dev) unlinkat(listed, entry->d_name, 0);
  }
  closedir(folder);
}

// A new file in `directory`, under a name of its own: O_EXCL neither follows a link nor opens an existing file.
absl::StatusOr<Descriptor> CreateTemporary(Temporary& temporary, const Descriptor& directory, const std::string& path,
                                           const OutputTarget& target) {
  static std::atomic<int64_t> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = TemporaryName(target.name, getpid(), counter++);
    CHECK_LE(name.size(), kLongestTemporaryName);
    std::memcpy(temporary.name, name.c_str(), name.size() + 1);
    temporary.process = getpid();
    temporary.directory = directory.get();  // Set before there is a file; process_ends is read afterwards, so one side sees the other.
    Descriptor file(openat(directory.get(), temporary.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, target.mode));
    const int error = file.get() >= 0 ? EBUSY : errno;   // Busy: searches for stale files took the lock each time.
    if (file.get() >= 0) {
      if (process_ends) {
        Unlink(temporary);
        temporary.directory = -1;
        return absl::CancelledError(absl::StrCat(path, ": not written: the process ends"));
      }
      if (LockOwn(file)) return file;
      Unlink(temporary);
    }
    temporary.directory = -1;
    errno = error;
    if (file.get() < 0 && errno != EEXIST) break;
  }
  return SystemError(path, "create a temporary file beside it");
}

// Gives the new file the mode of the old one. If the system refuses (FAT, some network drives), the new file keeps its mode, unless that
// mode admits users whom the old mode kept out.
absl::Status KeepMode(int file, mode_t mode, const std::string& path) {
  if (fchmod(file, mode) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat made;
  if (IsRefusal(error) && fstat(file, &made) == 0 && (made.st_mode & 0777 & ~mode) == 0) return absl::OkStatus();
  errno = error;
  return SystemError(path, "keep the file's mode");
}

}  // namespace

// The state of one file during writing. The destructor removes a temporary file that was not put in place.
struct AtomicFileWriter::State {
  ~State() {
    if (temporary == nullptr) return;
    Unlink(*temporary);
    GiveBack(*temporary);
  }

  std::string path;
  OutputTarget target;
  Descriptor directory{-1};  // Opened first: after the rename it would be too late to find that the directory cannot be synced.
  Temporary* temporary = nullptr;
  std::string temporary_path;
  Descriptor file{-1};
};

AtomicFileWriter::AtomicFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&& other) noexcept = default;
AtomicFileWriter::~AtomicFileWriter() = default;

absl::StatusOr<AtomicFileWriter> AtomicFileWriter::Create(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  ASSIGN_OR_RETURN(state->target, ResolveOwnFile(path));
  const std::string& folder = state->target.directory;
  state->directory = Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (state->directory.get() < 0) return SystemError(path, absl::StrCat("open its directory ", folder));
  RemoveStale(state->directory);
  state->temporary = TakeTemporary();
  if (state->temporary == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": found ", kMostAtOnce, " files being written, expected fewer"));
  }
  ASSIGN_OR_RETURN(state->file, CreateTemporary(*state->temporary, state->directory, path, state->target));
  state->temporary_path = absl::StrCat(folder, folder == "." ? "/" : "", state->temporary->name);
  return AtomicFileWriter(std::move(state));
}

absl::Status AtomicFileWriter::Append(absl::Span<const std::byte> bytes) {
  errno = WriteAll(state_->file.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return errno == 0 ? absl::OkStatus() : SystemError(state_->path, "write");
}

absl::Status AtomicFileWriter::Reserve(int64_t bytes) {
  const int file = state_->file.get();
  int error = 0;
  while ((error = fallocate(file, 0, 0, bytes) == 0 ? 0 : errno) == EINTR) {}
  if (IsRefusal(error)) error = ftruncate(file, bytes) == 0 ? 0 : errno;
  if (error == 0) return absl::OkStatus();
  struct statvfs disk;
  if (error == ENOSPC && fstatvfs(file, &disk) == 0 && static_cast<int64_t>(disk.f_bavail * disk.f_frsize) < bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(state_->path, ": room on the disk: found ", disk.f_bavail * disk.f_frsize,
                                                     " bytes, expected ", bytes, " or more"));
  }  // Else the disk has run out of something other than bytes.
  errno = error;
  return SystemError(state_->path, absl::StrCat("take ", bytes, " bytes of the disk"));
}

absl::Status AtomicFileWriter::WriteAt(int64_t offset, absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(state_->file.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(state_->path, absl::StrCat("write at byte ", offset));
    offset += written;
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Sync() {
  return fsync(state_->file.get()) == 0 ? absl::OkStatus() : SystemError(state_->path, "sync");
}

absl::Status AtomicFileWriter::SyncAndDrop(int64_t offset, int64_t bytes) {
  constexpr unsigned kWhole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const int file = state_->file.get();
  if (sync_file_range(file, offset, bytes, kWhole) != 0 && errno != ESPIPE && !IsRefusal(errno)) {
    return SystemError(state_->path, "sync");  // With the other codes the file system has no such call, and Sync does everything later.
  }
  posix_fadvise(file, offset, bytes, POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

const std::string& AtomicFileWriter::temporary_path() const { return state_->temporary_path; }

absl::Status AtomicFileWriter::Commit() {
  const State& state = *state_;
  const int directory = state.directory.get(), file = state.file.get();
  if (state.target.replaces) RETURN_IF_ERROR(KeepMode(file, state.target.mode, state.path));
  RETURN_IF_ERROR(Sync());
  // Before the rename, when nothing is in place yet. A copy, since the lock is held until the file itself is closed.
  if (Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 0)); copy.get() >= 0) RETURN_IF_ERROR(CloseWritten(copy, state.path));
  if (renameat(directory, state.temporary->name, directory, state.target.name.c_str()) != 0) {
    return SystemError(state.path, "put the new file in place");
  }
  GiveBack(*std::exchange(state_->temporary, nullptr));
  // Otherwise the directory has no sync.
  if (fsync(directory) != 0 && !IsRefusal(errno)) return SystemError(state.path, "sync its directory");
  return CloseWritten(state_->file, state.path);
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents) {
  ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append({reinterpret_cast<const std::byte*>(contents.data()), contents.size()}));
  return writer.Commit();
}

void RemoveTemporaryFiles() {
  process_ends = true;
  for (const Temporary& temporary : temporaries) Unlink(temporary);
}

void RemoveStaleTemporaryFiles(const std::string& path) {
  const absl::StatusOr<OutputTarget> target = ResolveOwnFile(path);
  if (!target.ok()) return;
  const Descriptor directory(open(target->directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) RemoveStale(directory);
}

absl::Status CheckWritable(const std::string& path) {
  ASSIGN_OR_RETURN(const OutputTarget target, ResolveOwnFile(path));
  return CheckFolder(path, target);
}

}  // namespace tessera
