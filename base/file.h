// Files for the engine: reads at any place; atomic writes, whole or not at all.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
//   RETURN_IF_ERROR(file->Read(/*offset=*/128, buffer));         // the whole buffer, or an error
//   RETURN_IF_ERROR(WriteFileAtomically("report.json", text));   // temporary file, sync, rename
//   ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));   // The same, piece by piece.
//   RETURN_IF_ERROR(writer.Append(buffer));
//   RETURN_IF_ERROR(writer.Commit());
//   RemoveStaleTemporaryFiles(path);                             // of writers that were killed
//
// Files are read, not mapped. If another process shortens the file, or a disk fails, a read returns a Status. A mapping would end the
// process (SIGBUS; storage/internal/borrowed_pages.h prevents that end for a moment). Only regular files are opened. A directory, FIFO or
// device is InvalidArgument with its kind. Missing: NotFound; unreadable: PermissionDenied. Thread-safe after Open.
//
// Read leaves the system's page cache unchanged. Pages that were in the cache stay. Fetched pages are given back (POSIX_FADV_DONTNEED): the
// reader has a copy, and a second copy would take memory from other programs. So a file that another program keeps in the cache is read at
// the speed of memory. Any other file is fetched again each time.
//
// Exceptions: pages that another process has mapped stay in any case. A page that two threads read at once may stay. A process that reads
// the file at the same time may have to fetch some pages twice. If the system does not tell which pages are in the cache (the user neither
// owns nor may change the file), nothing is given back.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class RandomAccessFile {
 public:
  // kDirect: reads bypass the system's cache (O_DIRECT) if the file system supports O_DIRECT; see direct().
  enum class Caching { kCached, kDirect };
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path, Caching caching = Caching::kCached);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // Size at the time of Open.
  bool direct() const { return direct_; }
  // Checks that the file was not written to since Open. FailedPrecondition (path, field, old, new) if size or time of writing differ.
  // Changes of names, owner, mode and attributes do not count: the file is the same.
  absl::Status CheckUnchanged() const;
  // Returns true once CheckUnchanged has seen another time of change. Renaming the file changes that time, and so does a writer that sets
  // the time of writing back. Only the bytes can tell the two cases apart.
  bool MayHaveChanged() const { return may_have_changed_; }

  // Fills `out` with the bytes from `offset` on. DataLoss (byte, bytes needed and left) if the file ends before; the system's error if
  // reading fails. REQUIRES: offset >= 0. If direct(): offset, size and address are multiples of 4096.
  absl::Status Read(int64_t offset, absl::Span<std::byte> out) const;

  int descriptor() const { return descriptor_; }  // For other system calls on the open file. The destructor closes the descriptor.
  // Returns the file's bytes in the page cache now, in whole pages. All bytes if the system does not tell; 0 if the file cannot be mapped.
  int64_t CachedBytes() const;

 private:
  RandomAccessFile(std::string path, int descriptor, const struct stat& opened, bool direct)
      : path_(std::move(path)), descriptor_(descriptor), size_(opened.st_size), direct_(direct), opened_(opened) {}

  absl::Status ReadAll(int64_t offset, absl::Span<std::byte> out) const;
  // Returns a flag for each page of the file from `begin` to `end`: true if the page cache has the page. Empty if the system does not tell.
  std::vector<bool> PagesHeld(int64_t begin, int64_t end) const;

  const std::string path_;
  const int descriptor_;
  const int64_t size_;
  const bool direct_;
  const struct stat opened_;
  mutable std::atomic<bool> may_have_changed_ = false;
  std::byte* mapped_ = nullptr;  // The whole file, only to ask which pages are in memory; never touched. Null: the system cannot be asked.
};

// Returns the whole file as a string. ResourceExhausted if the file is larger than max_bytes (found and allowed are named).
absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes);

// Returns OK if WriteFileAtomically could write there now, else the error that WriteFileAtomically would return. For outputs that come
// after long work.
absl::Status CheckWritable(const std::string& path);

// Replaces a file with the appended bytes, or leaves the file untouched. Until Commit all bytes go to a temporary file in the same folder.
// For files too large for memory. Links are followed and stay; another name of the old file (a hard link) keeps the old bytes. Writes only
// regular files and new files; text_file.h takes other kinds, too. Each writer first removes the files that killed writers left in the
// folder. Move-only, thread-compatible. All threads together write at most kMostAtOnce files at once.
class AtomicFileWriter {
 public:
  static constexpr int kMostAtOnce = 16;

  // Begins a new version of the file.
  //
  // Errors: InvalidArgument (path, kind) if the file is not a regular file or this process has the file open for writing. Also if the path
  // is a link to an open file (/dev/stdout, /proc/PID/fd/N). PermissionDenied if the file may not be written. ResourceExhausted if
  // kMostAtOnce other writers are active. Else the system's error.
  static absl::StatusOr<AtomicFileWriter> Create(const std::string& path);
  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  ~AtomicFileWriter();  // Without Commit: removes the temporary file, and nothing has changed.

  absl::Status Append(absl::Span<const std::byte> bytes);
  // Syncs, puts the file in place and closes the file. After an error in closing the file is in place, but may be lost. REQUIRES: the last
  // call.
  absl::Status Commit();

  // Fills the file with zeros up to `bytes`, for files whose size is known in advance and which are written in any order. Reserves the
  // space on the disk if the file system can: ResourceExhausted (bytes needed and free) if there is less.
  absl::Status Reserve(int64_t bytes);
  absl::Status WriteAt(int64_t offset, absl::Span<const std::byte> bytes);
  // Waits until all written bytes are on the disk. After an error the contents on the disk are unknown: give the file up.
  absl::Status Sync();
  // Syncs a range and drops the range from the system's cache, so that a large file does not push out pages of other files.
  absl::Status SyncAndDrop(int64_t offset, int64_t bytes);
  const std::string& temporary_path() const;  // The file's path until Commit, for reading the file again.

 private:
  struct State;
  explicit AtomicFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes contents that are all in memory. A reader finds the old file or the whole new file. Thread-safe.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);

// Removes temporary files that killed writers left in the folder of `path`, for any target file. Keeps files of living writers, which hold
// a lock (flock) on their files. Keeps files with names that no writer gave (internal/temporary_name.h). Best effort: a file that cannot be
// removed stays.
void RemoveStaleTemporaryFiles(const std::string& path);

// Removes the temporary files of all active writers, and prevents later temporary files from staying. For code that is about to end the
// process while other threads run: async-signal-safe.
void RemoveTemporaryFiles();

}  // namespace tessera
