// An open file for a block device. The file is opened a second time past the page cache (O_DIRECT), if the system offers O_DIRECT and a
// test shows that O_DIRECT works. If the path leads to another file by then, the second descriptor is not used.
//
//   const DeviceFile file(opened);                                        // a shared RandomAccessFile
//   if (file.direct() < 0) return absl::FailedPreconditionError(file.not_direct());   // "O_DIRECT: Invalid argument"
//
// Move-only; closes the second descriptor. Thread-safe.
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
  const std::string& not_direct() const { return not_direct_; }  // Why direct() is -1.
  int plain() const { return plain_->descriptor(); }

  // These two implement BlockDevice.
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) const;
  absl::Status CheckUnchanged() const { return plain_->CheckUnchanged(); }

 private:
  absl::Status OpenDirect();

  std::shared_ptr<const RandomAccessFile> plain_;
  int direct_ = -1;
  std::string not_direct_;
};

// Calls pread(2) once; returns -errno instead of -1.
int64_t PreadOnce(int descriptor, int64_t offset, absl::Span<std::byte> out);

}  // namespace tessera
