// Open files that close themselves, with descriptors that a child's own files do not use.
//
//   ASSIGN_OR_RETURN(Pipe pipe, NewPipe());
//   RETURN_IF_ERROR(ReadWithoutWaiting(pipe.reader));
//
// Errors are the errors of the system. Thread-compatible.
#pragma once

#include <string>
#include <utility>

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera {

class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OpenFile() { Close(); }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Pipe {
  OpenFile reader = {}, writer = {};
};

// Makes a pipe. All files here close on execve and have descriptors from 10 on.
absl::StatusOr<Pipe> NewPipe();
absl::Status ReadWithoutWaiting(const OpenFile& file);

// Returns a file in memory that holds `text`, positioned at the beginning.
absl::StatusOr<OpenFile> InputFile(const std::string& text);

// Returns an open folder without a name.
absl::StatusOr<OpenFile> NamelessFolder();

}  // namespace tessera
