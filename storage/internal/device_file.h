// A file opened for a block device: once past the page cache (O_DIRECT), where the system offers that and it was seen to work,
// and once through it.
//
//   ASSIGN_OR_RETURN(DeviceFile file, DeviceFile::Open(path));
//   if (file.direct() < 0) return absl::FailedPreconditionError(file.not_direct());   // "O_DIRECT: Invalid argument"
//
// Move-only; closes both. Thread-safe, but for CheckUnchanged.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"

namespace tessera {

class DeviceFile {
 public:
  // What RandomAccessFile::Open says of a file that cannot be read. That O_DIRECT is refused is no error.
  static absl::StatusOr<DeviceFile> Open(const std::string& path);
  DeviceFile(DeviceFile&& other) noexcept;
  ~DeviceFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return plain_->size(); }
  int direct() const { return direct_; }                         // The descriptor with O_DIRECT; -1: there is none.
  const std::string& not_direct() const { return not_direct_; }  // Why.
  int plain() const { return plain_->descriptor(); }

  // These two are BlockDevice's.
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) const;
  absl::Status CheckUnchanged() { return plain_->CheckUnchanged(); }

 private:
  DeviceFile(std::string path, std::unique_ptr<RandomAccessFile> plain) : path_(std::move(path)), plain_(std::move(plain)) {}
  absl::Status OpenDirect();

  std::string path_;
  std::unique_ptr<RandomAccessFile> plain_;
  int direct_ = -1;
  std::string not_direct_;
};

// pread(2), with -errno in place of -1.
int64_t PreadOnce(int descriptor, int64_t offset, absl::Span<std::byte> out);

}  // namespace tessera
