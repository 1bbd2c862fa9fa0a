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
// Read leaves the system's page cache as it found it. What the cache held stays there, whoever put it there; pages that had to be
// fetched are given back (POSIX_FADV_DONTNEED): the reader has a copy, and a second one would take memory from others. So a file that
// someone keeps warm is read at the speed of memory, and one that nobody does is fetched again each time. Pages that another process
// has mapped stay in any case, and one that two threads read at once may; a process that reads the file at the same time may have to
// fetch some of them twice. Where the system does not say what it holds (to a user who neither owns nor may change the file), nothing is
// given back.
#pragma once

#include <sys/stat.h>

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
  // kDirect: reads pass by the system's cache (O_DIRECT) where the file system has that; see direct().
  enum class Caching { kCached, kDirect };
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path, Caching caching = Caching::kCached);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  int64_t size() const { return size_; }  // When it was opened.
  bool direct() const { return direct_; }
  // FailedPrecondition (path, what changed, from what to what) if the file was written to since it was opened, or was renamed or got
  // other permissions, which its times do not tell from that. Deleting it, or another of its names, is no change. Not thread-safe.
  absl::Status CheckUnchanged();

  // Fills `out` with the bytes from `offset` on. DataLoss (byte, bytes needed and left) if the file ends before; what the system
  // says if it cannot read. REQUIRES: offset >= 0. If direct(): offset, size and address are multiples of 4096.
  absl::Status Read(int64_t offset, absl::Span<std::byte> out) const;

  int descriptor() const { return descriptor_; }  // For what else a system can do with an open file. It is closed with this.
  // What the page cache holds of it now, in whole pages; all of it where the system does not say.
  int64_t CachedBytes() const;

 private:
  RandomAccessFile(std::string path, int descriptor, const struct stat& opened, bool direct)
      : path_(std::move(path)), descriptor_(descriptor), size_(opened.st_size), direct_(direct), opened_(opened) {}

  absl::Status ReadAll(int64_t offset, absl::Span<std::byte> out) const;
  // Of the pages from `begin` on that the file has before `end`; empty if there is no saying.
  std::vector<bool> PagesHeld(int64_t begin, int64_t end) const;

  const std::string path_;
  const int descriptor_;
  const int64_t size_;
  const bool direct_;
  struct stat opened_;
  std::byte* mapped_ = nullptr;  // The whole file, to ask what is in memory; never touched. Null: there is no asking.
};

// The whole file as a string. ResourceExhausted if it is larger than max_bytes (found and allowed are named).
absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes);

// Whether WriteFileAtomically could write there now: OK, or the error it would give. For outputs that come after long work.
absl::Status CheckWritable(const std::string& path);

// Replaces a file with what is appended, or leaves it untouched: until Commit all goes to a temporary file beside it. For files
// too large for memory. Move-only, thread-compatible; at most kMostAtOnce are written at once, by whichever threads.
class AtomicFileWriter {
 public:
  static constexpr int kMostAtOnce = 16;

  // ResourceExhausted if kMostAtOnce others are under way; else what the system says.
  static absl::StatusOr<AtomicFileWriter> Create(const std::string& path);
  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  ~AtomicFileWriter();  // Without Commit nothing has happened: the temporary file goes.

  absl::Status Append(absl::Span<const std::byte> bytes);
  // Syncs, and puts the file in place. REQUIRES: the last call.
  absl::Status Commit();

  // For files whose size is known before, written in any order. Reserve gives the file that size, of zeros, and takes the room on
  // the disk where the file system can: ResourceExhausted (bytes needed and free) if there is less.
  absl::Status Reserve(int64_t bytes);
  absl::Status WriteAt(int64_t offset, absl::Span<const std::byte> bytes);
  // Waits until all that was written is on the disk. After an error nothing may be assumed of what is: give the file up.
  absl::Status Sync();
  // Sync for a range, which also leaves the system's cache: a large file does not push out what others have there.
  absl::Status SyncAndDrop(int64_t offset, int64_t bytes);
  const std::string& temporary_path() const;  // Where it lies until Commit, for reading it again.

 private:
  struct State;
  explicit AtomicFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same with contents that are all there: what a reader finds is the old file or the whole new one. Thread-safe.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);

// Removes what writers of files in the folder of `path` left there when they were killed. Those of living writers, which hold a
// lock (flock) on theirs, stay. Best effort: what cannot be removed stays.
void RemoveStaleTemporaryFiles(const std::string& path);

// Removes the temporary files of those writers that are under way, and lets no other stay. For those about to end the process
// while other threads run: async-signal-safe.
void RemoveTemporaryFiles();

}  // namespace tessera
