// An open file for a block device: it is opened a second time past the page cache (O_DIRECT), where the system offers that and it was seen
// to work. What is at its path by then does not matter: it is the same file, or is not used.
//
//   const DeviceFile file(opened);                                        // a shared RandomAccessFile
//   if (file.direct() < 0) return absl::FailedPreconditionError(file.not_direct());   // "O_DIRECT: Invalid argument"
//
// Move-only; closes what it opened. Thread-safe.
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
  explicit DeviceFile(std::shared_ptr<const RandomAccessFile> plain);
  DeviceFile(DeviceFile&& other) noexcept;
  ~DeviceFile();

  const std::string& path() const { return plain_->path(); }
  int64_t size() const { return plain_->size(); }
  int direct() const { return direct_; }                         // The descriptor with O_DIRECT; -1: there is none.
  const std::string& not_direct() const { return not_direct_; }  // Why.
  int plain() const { return plain_->descriptor(); }

  // These two are BlockDevice's.
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) const;
  absl::Status CheckUnchanged() const { return plain_->CheckUnchanged(); }

 private:
  absl::Status OpenDirect();

  std::shared_ptr<const RandomAccessFile> plain_;
  int direct_ = -1;
  std::string not_direct_;
};

// pread(2), with -errno in place of -1.
int64_t PreadOnce(int descriptor, int64_t offset, absl::Span<std::byte> out);

}  // namespace tessera
