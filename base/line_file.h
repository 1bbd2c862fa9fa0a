// A file of lines to which one process at a time adds whole lines, and with which a later run goes on.
//
//   ASSIGN_OR_RETURN(LineFile file, LineFile::Open("samples.jsonl"));           // made if it is not there
//   RETURN_IF_ERROR(file.ForEachLine([&](absl::string_view line, int64_t number) { return Take(line, number); }));
//   RETURN_IF_ERROR(file.CutRest());                                            // the part of a line that a kill left
//   RETURN_IF_ERROR(file.Append(R"({"id": 1})"));
//
// A line and its break are added in one piece by one call, so a run that ends in between leaves whole lines. A kill within that call, or a
// full disk, may leave a part of a last line, the rest of the file, which the next run finds. Only regular files can be used so. A process
// that dies leaves the file to others; where the file system has no locks (flock), no process keeps others out. A file that was made for a
// run that ends before it adds or syncs anything is removed again. Thread-compatible.
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

  // InvalidArgument for what is no regular file; FailedPrecondition if another process has the file open so; else the system's error. All
  // errors name the path.
  static absl::StatusOr<LineFile> Open(const std::string& path);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();

  // Reads the whole lines, each without its break; they count from 1. The first error of `read`, or of reading. ResourceExhausted for a
  // line longer than kLongestLine.
  absl::Status ForEachLine(absl::FunctionRef<absl::Status(absl::string_view line, int64_t number)> read);
  // The bytes behind the last break, as ForEachLine found them. Empty: all lines were whole.
  const std::string& rest() const { return rest_; }
  absl::Status CutRest();
  absl::Status EndRest();   // Makes the rest a whole line.

  // REQUIRES: ForEachLine was OK, there is no rest, and the line has no break. After an error the file has the lines that it had before,
  // where the system can still cut it, or else a part of this one.
  absl::Status Append(absl::string_view line);
  // Waits until all is on the disk.
  absl::Status Sync();

  const std::string& path() const { return path_; }

 private:
  LineFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  // Returns whether the file is kept from other processes: not where the file system has no locks.
  absl::StatusOr<bool> Lock() const;
  void RemoveIfEmpty() const;
  absl::Status Cut() const;   // Behind the whole lines.

  std::string path_;
  int descriptor_;
  bool is_unused_ = false;    // Made by Open, and neither added to nor synced so far.
  int64_t whole_bytes_ = 0;   // The whole lines.
  std::string rest_;
};

}  // namespace tessera
