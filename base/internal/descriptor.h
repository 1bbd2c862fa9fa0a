// A file descriptor that closes itself, and the status for errno.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tessera {

class Descriptor {
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

// Returns the status for errno. REQUIRES: errno is still the error of the failed call.
inline absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

// Closes a written file. Some file systems report only here that written bytes are lost. EINTR counts as closed.
inline absl::Status CloseWritten(Descriptor& descriptor, const std::string& path) {
  return close(descriptor.Release()) == 0 || errno == EINTR ? absl::OkStatus() : SystemError(path, "close");
}

}  // namespace tessera
