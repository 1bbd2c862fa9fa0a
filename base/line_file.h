// A file of lines. One process at a time appends whole lines, and a later run continues the file.
//
//   ASSIGN_OR_RETURN(LineFile file, LineFile::Open("samples.jsonl"));           // made if it is not there
//   RETURN_IF_ERROR(file.ForEachLine([&](absl::string_view line, int64_t number) { return Take(line, number); }));
//   RETURN_IF_ERROR(file.CutRest());                                            // the part of a line that a kill left
//   RETURN_IF_ERROR(file.Append(R"({"id": 1})"));
//
// One call appends a line and its break in one piece, so a run that ends between calls leaves whole lines. A kill within a call, or a full
// disk, may leave a part of a last line (the rest of the file). The next run finds the rest. Only regular files are allowed. A process that
// dies releases the file; if the file system has no locks (flock), no process keeps others out. A file made for a run that ends before any
// Append or Sync is removed again. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class LineFile {
 public:
  static constexpr int64_t kLongestLine = int64_t{256} << 20;

  // Opens or makes the file. InvalidArgument if the path is not a regular file; FailedPrecondition if another process has the file open as
  // a LineFile; else the system's error. All errors name the path.
  static absl::StatusOr<LineFile> Open(const std::string& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();

  // Reads the whole lines, each without its break; numbers start at 1. Returns the first error of `read`, or of reading. ResourceExhausted
  // for a line longer than kLongestLine.
  absl::Status ForEachLine(absl::FunctionRef<absl::Status(absl::string_view line, int64_t number)> read);
  // The bytes behind the last break, found by ForEachLine. Empty: all lines were whole.
  const std::string& rest() const { return rest_; }
  absl::Status CutRest();
  absl::Status EndRest();   // Makes the rest a whole line.

  // Appends a line. REQUIRES: ForEachLine was OK, there is no rest, and the line has no break. After an error the file has the lines from
  // before if the system can still cut the file, or else a part of the new line, too.
  absl::Status Append(absl::string_view line);
  // Waits until all bytes are on the disk.
  absl::Status Sync();

  const std::string& path() const { return path_; }

 private:
  LineFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  // Locks the file. Returns false if the file system has no locks: the file is then not kept from other processes.
  absl::StatusOr<bool> Lock() const;
  void RemoveIfEmpty() const;
  absl::Status Cut() const;   // Cuts the file behind the whole lines.

  std::string path_;
  int descriptor_;
  bool is_unused_ = false;    // Made by Open, without an Append or Sync so far.
  int64_t whole_bytes_ = 0;   // Bytes of the whole lines.
  std::string rest_;
};

}  // namespace tessera
