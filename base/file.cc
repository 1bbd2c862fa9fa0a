#include "tessera/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Also usable before main, where constants of other files are made.
int64_t PageBytes() {
  static const int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

// The status for errno, which must still be that of the failed call.
absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

class Descriptor {  // Closes a file descriptor when it goes.
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept { std::swap(fd_, other.fd_); return *this; }
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
  struct stat opened;
  bool direct;
};

absl::StatusOr<OpenFile> OpenRegular(const std::string& path, bool direct = false) {
  // Checked before opening because opening a device can have effects; checked again afterwards because it may be another file by then.
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return SystemError(path, "open");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: opening a FIFO does not block.
  Descriptor descriptor(direct ? open(path.c_str(), kFlags | O_DIRECT) : -1);
  direct = descriptor.get() >= 0;
  if (!direct) descriptor = Descriptor(open(path.c_str(), kFlags));
  if (descriptor.get() < 0) return SystemError(path, "open");
  if (fstat(descriptor.get(), &found) != 0) return SystemError(path, "examine");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  return OpenFile{std::move(descriptor), found, direct};
}

// What an atomic write needs to know about its target.
struct Target {
  std::string directory, name;
  mode_t mode = 0666;          // Mode of the file that is replaced, else 0666 without the umask.
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

// The temporary files under way, where RemoveTemporaryFiles finds them: a signal handler can follow neither a lock nor memory
// that another thread gives back.
struct Temporary {
  std::atomic<int> directory{-1};   // The folder's descriptor; -1: there is no file.
  char name[64];                    // Written only while there is no file.
  bool taken = false;               // Guarded by temporaries_mutex.
};
Temporary temporaries[AtomicFileWriter::kMostAtOnce];
std::mutex temporaries_mutex;
std::atomic<bool> process_ends{false};

void Unlink(const Temporary& temporary) {
  const int directory = temporary.directory;
  if (directory >= 0) unlinkat(directory, temporary.name, 0);
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

// Takes the lock that distinguishes a temporary file under way from a stale one. False if a search for stale files locked it between
// creating and locking. On a file system without locks, stale files cannot be recognized.
bool LockOwn(const Descriptor& file) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat found;
  return fstat(file.get(), &found) != 0 || found.st_nlink > 0;
}

// A new file in `directory`, under a name of its own: O_EXCL neither follows a link nor opens an existing file.
absl::StatusOr<Descriptor> CreateTemporary(Temporary& temporary, const Descriptor& directory, const std::string& path,
                                           mode_t mode) {
  static std::atomic<int64_t> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::snprintf(temporary.name, sizeof(temporary.name), ".tessera-%d-%lld.tmp", static_cast<int>(getpid()),
                  static_cast<long long>(counter++));
    temporary.directory = directory.get();  // Set before there is a file; process_ends is read afterwards. So one side sees the other.
    Descriptor file(openat(directory.get(), temporary.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    const int error = errno;
    if (file.get() >= 0) {
      if (process_ends) Unlink(temporary);
      if (LockOwn(file)) return file;
      Unlink(temporary);
    }
    temporary.directory = -1;
    errno = error;
    if (file.get() < 0 && errno != EEXIST) break;
  }
  return SystemError(path, "create a temporary file beside it");
}

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path, Caching caching) {
  ASSIGN_OR_RETURN(OpenFile opened, OpenRegular(path, caching == Caching::kDirect));
  auto file = std::unique_ptr<RandomAccessFile>(
      new RandomAccessFile(path, opened.descriptor.Release(), opened.opened, opened.direct));
  // No read-ahead: pages that the system reads ahead would look like pages that were there before.
  posix_fadvise(file->descriptor_, 0, 0, POSIX_FADV_RANDOM);
  void* const mapped = mmap(nullptr, std::max<int64_t>(file->size_, 1), PROT_NONE, MAP_SHARED, file->descriptor_, 0);
  if (mapped != MAP_FAILED) file->mapped_ = static_cast<std::byte*>(mapped);
  return file;
}

RandomAccessFile::~RandomAccessFile() {
  if (mapped_ != nullptr) munmap(mapped_, std::max<int64_t>(size_, 1));
  close(descriptor_);
}

absl::Status RandomAccessFile::Read(int64_t offset, absl::Span<std::byte> out) const {
  if (direct_) return ReadAll(offset, out);
  const int64_t begin = offset / PageBytes() * PageBytes(), end = AlignUp(offset + static_cast<int64_t>(out.size()), PageBytes());
  const std::vector<bool> held = PagesHeld(begin, end);
  RETURN_IF_ERROR(ReadAll(offset, out));
  for (auto page = held.begin(); (page = std::find(page, held.end(), false)) != held.end();) {
    const auto fetched = page;
    page = std::find(page, held.end(), true);
    posix_fadvise(descriptor_, begin + (fetched - held.begin()) * PageBytes(), (page - fetched) * PageBytes(), POSIX_FADV_DONTNEED);
  }
  return absl::OkStatus();
}

absl::Status RandomAccessFile::ReadAll(int64_t offset, absl::Span<std::byte> out) const {
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

std::vector<bool> RandomAccessFile::PagesHeld(int64_t begin, int64_t end) const {
  end = std::min(end, AlignUp(size_, PageBytes()));
  if (mapped_ == nullptr || begin >= end) return {};
  std::vector<unsigned char> pages((end - begin) / PageBytes());
  if (mincore(mapped_ + begin, end - begin, pages.data()) != 0) return {};
  std::vector<bool> held;
  for (unsigned char page : pages) held.push_back((page & 1) != 0);
  return held;
}

int64_t RandomAccessFile::CachedBytes() const {
  const std::vector<bool> held = PagesHeld(0, AlignUp(size_, PageBytes()));
  return PageBytes() * std::count(held.begin(), held.end(), true);
}

absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const OpenFile file, OpenRegular(path));
  const auto too_large = [&](absl::string_view found) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": file size: found ", found, ", expected at most ", max_bytes, " bytes"));
  };
  const int64_t size = file.opened.st_size;
  if (size > max_bytes) return too_large(absl::StrCat(size, " bytes"));
  // Reads to the real end, not to the size: the file may grow, and files in /proc have size 0.
  std::string contents(size + 1, '\0');
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

// The state of one file that is being written. Its destructor removes a temporary file that was not put in place.
struct AtomicFileWriter::State {
  ~State() {
    if (temporary == nullptr) return;
    Unlink(*temporary);
    GiveBack(*temporary);
  }

  std::string path;
  Target target;
  Descriptor directory{-1};  // Opened first: after the rename it would be too late to find that it cannot be synced.
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
  ASSIGN_OR_RETURN(state->target, ResolveTarget(path));
  const std::string& folder = state->target.directory;
  state->directory = Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (state->directory.get() < 0) return SystemError(path, absl::StrCat("open its directory ", folder));
  state->temporary = TakeTemporary();
  if (state->temporary == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": found ", kMostAtOnce, " files being written, expected fewer"));
  }
  ASSIGN_OR_RETURN(state->file, CreateTemporary(*state->temporary, state->directory, path, state->target.mode));
  state->temporary_path = absl::StrCat(folder, folder == "." ? "/" : "", state->temporary->name);
  return AtomicFileWriter(std::move(state));
}

absl::Status AtomicFileWriter::Append(absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(state_->file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(state_->path, "write");
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Reserve(int64_t bytes) {
  const int file = state_->file.get();
  int error = 0;
  while ((error = fallocate(file, 0, 0, bytes) == 0 ? 0 : errno) == EINTR) {}
  if (error == EOPNOTSUPP) error = ftruncate(file, bytes) == 0 ? 0 : errno;
  if (error == 0) return absl::OkStatus();
  struct statvfs disk;
  if (error == ENOSPC && fstatvfs(file, &disk) == 0) {
    return absl::ResourceExhaustedError(absl::StrCat(state_->path, ": room on the disk: found ", disk.f_bavail * disk.f_frsize,
                                                     " bytes, expected ", bytes, " or more"));
  }
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
  if (sync_file_range(file, offset, bytes, kWhole) != 0 && errno != EINVAL && errno != ESPIPE && errno != ENOSYS) {
    return SystemError(state_->path, "sync");  // With the other codes the file system has no such call, and Sync does everything later.
  }
  posix_fadvise(file, offset, bytes, POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

const std::string& AtomicFileWriter::temporary_path() const { return state_->temporary_path; }

absl::Status AtomicFileWriter::Commit() {
  const State& state = *state_;
  const int directory = state.directory.get(), file = state.file.get();
  if (state.target.replaces && fchmod(file, state.target.mode) != 0) return SystemError(state.path, "keep the file's mode");
  RETURN_IF_ERROR(Sync());
  if (renameat(directory, state.temporary->name, directory, state.target.name.c_str()) != 0) {
    return SystemError(state.path, "put the new file in place");
  }
  GiveBack(*std::exchange(state_->temporary, nullptr));
  if (fsync(directory) != 0 && errno != EINVAL) return SystemError(state.path, "sync its directory");  // EINVAL: it has no sync.
  return absl::OkStatus();
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
  const absl::StatusOr<Target> target = ResolveTarget(path);
  if (!target.ok()) return;
  DIR* folder = opendir(target->directory.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const absl::string_view name = entry->d_name;
    if (!absl::StartsWith(name, ".tessera-") || !absl::EndsWith(name, ".tmp")) continue;
    const Descriptor file(openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
}

absl::Status CheckWritable(const std::string& path) {
  ASSIGN_OR_RETURN(const Target target, ResolveTarget(path));
  if (access(target.directory.c_str(), R_OK | W_OK | X_OK) == 0) return absl::OkStatus();
  return SystemError(path, absl::StrCat("write to its directory ", target.directory));
}

}  // namespace tessera
