// Reads with io_uring: one thread keeps many reads in flight and spends almost no CPU on them.
//
//   ASSIGN_OR_RETURN(auto device, IoUringDevice::Create(std::move(file), /*depth=*/8, arena.bytes()));
//   device->setup();                    // for reports: "deferred task work, file registered, buffers registered"
//
// The ring is made by the thread that opens it and belongs to the thread of the first Submit.
#pragma once

#include <liburing.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/storage/internal/file_device.h"

namespace tessera {

// OK if this process may use io_uring; else FailedPrecondition with the reason. Asks in a forked child: a seccomp filter that kills a
// process which asks (Android) kills the child alone.
absl::Status ProbeIoUring();

class IoUringDevice : public FileDevice {
 public:
  // Buffers (any number of bytes, perhaps none) are where most reads will go; they are registered if the system lets us, which
  // spares it finding their pages at each read. They must outlive the device. FailedPrecondition (with what the system said) if
  // no ring is to be had. REQUIRES: file.direct() >= 0, depth > 0.
  static absl::StatusOr<std::unique_ptr<IoUringDevice>> Create(DeviceFile file, int depth, absl::Span<std::byte> buffers);
  ~IoUringDevice() override;

  absl::string_view kind() const override { return "io_uring"; }
  const std::string& setup() const { return setup_; }  // For reports: what of it the system granted.
  absl::Status Submit(const Read& read) override;
  absl::Status Wait(std::vector<Completion>& done) override;

 private:
  IoUringDevice(DeviceFile file, int depth) : FileDevice(std::move(file), depth) {}
  absl::Status MakeRing();
  void RegisterFile();
  void RegisterBuffers(absl::Span<std::byte> buffers);
  int BufferOf(absl::Span<std::byte> out) const;  // The registered buffer that `out` lies in; -1: in none.
  absl::Status Error(int error, absl::string_view what) const;

  io_uring ring_ = {};
  bool made_ = false, enabled_ = false;
  bool file_registered_ = false;
  std::vector<iovec> buffers_;  // Those registered.
  std::string setup_;
};

}  // namespace tessera
