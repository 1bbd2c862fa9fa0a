// Files as the engine reads and writes them: mapped whole for reading, written whole or not at all.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, MappedFile::Open(path));
//   Parse(file->bytes());
//   RETURN_IF_ERROR(WriteFileAtomically("report.json", text));   // temporary file, sync, rename
//
// A mapped file must keep its length while it is read: if another process shortens it, the system ends this one (SIGBUS).
// Only regular files are mapped: a directory, FIFO or device is InvalidArgument with what it is. Missing: NotFound; unreadable:
// PermissionDenied. Thread-safe after Open.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

class MappedFile {
 public:
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::Span<const std::byte> bytes() const { return bytes_; }

  // Tells the system that bytes [begin, begin + size) are not needed again: they leave this process's memory, and come back
  // from the file if they are read after all.
  void Forget(int64_t begin, int64_t size) const;

 private:
  MappedFile() = default;
  absl::Span<const std::byte> bytes_;
};

// The whole file as a string. ResourceExhausted if it is larger than max_bytes (found and allowed are named).
absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes);

// Whether WriteFileAtomically could write there now: OK, or the error it would give. For outputs that come after long work.
absl::Status CheckWritable(const std::string& path);

// Replaces `path` with `contents`, or leaves it untouched: what a reader finds is the old file or the whole new one.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);

}  // namespace tessera
