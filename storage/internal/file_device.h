// The common part of all block devices over a file; derived classes implement reading.
//
//   class PreadDevice : public FileDevice { ... };
#pragma once

#include <string>
#include <utility>

#include "tessera/storage/block_device.h"
#include "tessera/storage/internal/device_file.h"

namespace tessera {

class FileDevice : public BlockDevice {
 public:
  const std::string& path() const override { return file_.path(); }
  int64_t size() const override { return file_.size(); }
  int depth() const override { return depth_; }
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) override { return file_.ReadPlain(offset, out); }
  absl::Status CheckUnchanged() override { return file_.CheckUnchanged(); }

 protected:
  FileDevice(DeviceFile file, int depth) : file_(std::move(file)), depth_(depth) {}

  // CHECKs Submit's requirements for a read, and counts the read in. The device counts the read out at completion.
  void CountIn(const Read& read);

  DeviceFile file_;
  const int depth_;
  int in_flight_ = 0;
};

}  // namespace tessera
