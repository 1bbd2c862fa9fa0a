// Reads with io_uring: one thread keeps many reads in flight and spends almost no CPU on them.
//
//   ASSIGN_OR_RETURN(auto device, IoUringDevice::Create(std::move(file), /*depth=*/8, arena.bytes()));
//   device->setup();                    // for reports: "deferred task work, file registered, buffers registered"
//
// The opening thread makes the ring; then the ring belongs to the thread of the first Submit.
#pragma once

#include <liburing.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/storage/internal/file_device.h"

namespace tessera {

// Returns OK if this process may use io_uring; else FailedPrecondition with the reason. Asks in a forked child: a seccomp filter that kills
// a process which asks (Android) kills the child alone.
absl::Status ProbeIoUring();

class IoUringDevice : public FileDevice {
 public:
  // Makes a device. `buffers` (any number of bytes, perhaps none) are the targets of most reads. Buffers are registered if the system
  // allows it; then the system need not find their pages at each read. The buffers must outlive the device. FailedPrecondition (with the
  // system's message) if a ring is unavailable. REQUIRES: file.direct() >= 0, depth > 0.
  static absl::StatusOr<std::unique_ptr<IoUringDevice>> Create(DeviceFile file, int depth, absl::Span<std::byte> buffers);
  ~IoUringDevice() override;

  absl::string_view kind() const override { return "io_uring"; }
  const std::string& setup() const { return setup_; }  // For reports: the features that the system granted.
  absl::Status Submit(const Read& read) override;
  absl::Status Wait(std::vector<Completion>& done) override;

 private:
  IoUringDevice(DeviceFile file, int depth) : FileDevice(std::move(file), depth) {}
  absl::Status MakeRing();
  void RegisterFile();
  void RegisterBuffers(absl::Span<std::byte> buffers);
  int BufferOf(absl::Span<std::byte> out) const;  // The registered buffer that contains `out`; -1: none.
  absl::Status Error(int error, absl::string_view what) const;

  io_uring ring_ = {};
  bool made_ = false, enabled_ = false;
  bool file_registered_ = false;
  std::vector<iovec> buffers_;  // The registered buffers.
  std::string setup_;
};

}  // namespace tessera
