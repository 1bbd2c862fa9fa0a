// Files as the engine reads and writes them: read at any place, written whole or not at all.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
//   RETURN_IF_ERROR(file->Read(/*offset=*/128, buffer));         // the whole buffer, or an error
//   RETURN_IF_ERROR(WriteFileAtomically("report.json", text));   // temporary file, sync, rename
//   ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));   // The same, piece by piece.
//   RETURN_IF_ERROR(writer.Append(buffer));
//   RETURN_IF_ERROR(writer.Commit());
//   RemoveStaleTemporaryFiles(path);                             // of writers that were killed
//
// Files are read, not mapped: a file that another process shortens, or a disk that fails, is then a Status, where a mapping would
// end the process (SIGBUS; storage/internal/borrowed_pages.h keeps it from that for a moment). Only regular files are opened: a
// directory, FIFO or device is InvalidArgument with what it is. Missing: NotFound; unreadable: PermissionDenied. Thread-safe after
// Open.
//
// Read leaves the system's page cache as it found it. Pages that were in the cache stay there. Pages that had to be fetched are given back
// (POSIX_FADV_DONTNEED), since the reader has a copy, and a second one would take memory from other programs. So a file that another
// program keeps in the cache is read at the speed of memory, and any other file is fetched again each time. Pages that another process has
// mapped stay in any case, and a page that two threads read at once may stay; a process that reads the file at the same time may have to
// fetch some pages twice. Where the system does not say which pages it holds (the user neither owns nor may change the file), nothing is
// given back.
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
  // kDirect: reads bypass the system's cache (O_DIRECT) where the file system has that; see direct().
  enum class Caching { kCached, kDirect };
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path, Caching caching = Caching::kCached);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // When it was opened.
  bool direct() const { return direct_; }
  // FailedPrecondition (path, what changed, from what to what) if the file was written to since it was opened: its size or its time of
  // writing is another. What happens to its names, owner, mode and attributes is no change: it is the same file.
  absl::Status CheckUnchanged() const;
  // True once CheckUnchanged has seen another time of change. Renaming the file leaves that behind, and so does a writer that sets the time
  // of writing back: only the bytes can tell which.
  bool MayHaveChanged() const { return may_have_changed_; }

  // Fills `out` with the bytes from `offset` on. DataLoss (byte, bytes needed and left) if the file ends before; the system's error if it
  // cannot read. REQUIRES: offset >= 0. If direct(): offset, size and address are multiples of 4096.
  absl::Status Read(int64_t offset, absl::Span<std::byte> out) const;

  int descriptor() const { return descriptor_; }  // For other system calls on the open file. It is closed with this object.
  // How many of its bytes the page cache holds now, in whole pages; all of them where the system does not say.
  int64_t CachedBytes() const;

 private:
  RandomAccessFile(std::string path, int descriptor, const struct stat& opened, bool direct)
      : path_(std::move(path)), descriptor_(descriptor), size_(opened.st_size), direct_(direct), opened_(opened) {}

  absl::Status ReadAll(int64_t offset, absl::Span<std::byte> out) const;
  // One byte for each page that the file has from `begin` to `end`; empty if the system does not say.
  std::vector<bool> PagesHeld(int64_t begin, int64_t end) const;

  const std::string path_;
  const int descriptor_;
  const int64_t size_;
  const bool direct_;
  const struct stat opened_;
  mutable std::atomic<bool> may_have_changed_ = false;
  std::byte* mapped_ = nullptr;  // The whole file, only to ask which pages are in memory; never touched. Null: the system cannot be asked.
};

// The whole file as a string. ResourceExhausted if it is larger than max_bytes (found and allowed are named).
absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes);

// OK if WriteFileAtomically could write there now, or the error that it would return. For outputs that come after long work.
absl::Status CheckWritable(const std::string& path);

// Replaces a file with the appended bytes, or leaves it untouched: until Commit everything goes to a temporary file beside it. For files
// too large for memory. Links are followed and stay; another name of the old file (a hard link) keeps the old bytes. Only regular files
// and new ones are written so: text_file.h takes others, too. Each writer first removes the files that killed writers left in the folder.
// Move-only, thread-compatible; at most kMostAtOnce are written at once, by all threads together.
class AtomicFileWriter {
 public:
  static constexpr int kMostAtOnce = 16;

  // InvalidArgument (path, what it is) for what is no regular file, and for one that this process has open for writing, or that is named by
  // a link to an open file (/dev/stdout, /proc/PID/fd/N); PermissionDenied for a file that may not be written; ResourceExhausted if
  // kMostAtOnce others are under way; else the system's error.
  static absl::StatusOr<AtomicFileWriter> Create(const std::string& path);
  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  ~AtomicFileWriter();  // Without Commit the temporary file is removed, and nothing has changed.

  absl::Status Append(absl::Span<const std::byte> bytes);
  // Syncs, puts the file in place and closes it. After an error in closing it is in place, but may be lost. REQUIRES: the last call.
  absl::Status Commit();

  // For files whose size is known in advance, written in any order. Reserve fills the file with zeros up to that size, and reserves the
  // space on the disk where the file system can: ResourceExhausted (bytes needed and free) if there is less.
  absl::Status Reserve(int64_t bytes);
  absl::Status WriteAt(int64_t offset, absl::Span<const std::byte> bytes);
  // Waits until all written bytes are on the disk. After an error it is unknown what is on the disk: give the file up.
  absl::Status Sync();
  // Sync for a range, which is also dropped from the system's cache, so that a large file does not push out pages of other files.
  absl::Status SyncAndDrop(int64_t offset, int64_t bytes);
  const std::string& temporary_path() const;  // The file's path until Commit, for reading it again.

 private:
  struct State;
  explicit AtomicFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same for contents that are all in memory: a reader finds the old file or the whole new one. Thread-safe.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);

// Removes temporary files that killed writers left in the folder of `path`, whichever file they were to become. Files of living writers,
// which hold a lock (flock) on them, stay, and so does each file whose name no writer gave (internal/temporary_name.h). Best effort: a file
// that cannot be removed stays.
void RemoveStaleTemporaryFiles(const std::string& path);

// Removes the temporary files of all writers that are under way, and keeps later ones from staying. For code that is about to end the
// process while other threads run: async-signal-safe.
void RemoveTemporaryFiles();

}  // namespace tessera
