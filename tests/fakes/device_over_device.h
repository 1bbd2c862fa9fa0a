// The base of fake block devices over another device: every call except reading goes to that device.
//
//   class LateDevice : public DeviceOverDevice { ... };
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tessera/storage/block_device.h"

namespace tessera {

class DeviceOverDevice : public BlockDevice {
 public:
  const std::string& path() const override { return below_->path(); }
  absl::string_view kind() const override { return below_->kind(); }
  int64_t size() const override { return below_->size(); }
  int depth() const override { return below_->depth(); }
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) override { return below_->ReadPlain(offset, out); }
  absl::Status CheckUnchanged() override { return below_->CheckUnchanged(); }

 protected:
  explicit DeviceOverDevice(std::unique_ptr<BlockDevice> below) : below_(std::move(below)) {}

  const std::unique_ptr<BlockDevice> below_;
};

}  // namespace tessera
