// A block device on which a chosen read fails; later reads of the same place fail until the device is repaired.
//
//   Breaker breaker;
//   options.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
//     return std::make_unique<BreakableDevice>(std::move(device), breaker);
//   };
//   breaker.BreakReadFromNow(25);                    // EIO, at the same place again and again
//   breaker.Repair();
//
// A breaker is thread-safe; a device is used on one thread.
#pragma once

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/tests/fakes/device_over_device.h"

namespace tessera {

// Chooses the read that fails. The choice may be set and cleared while another thread uses the device. A place that failed stays broken
// until Repair.
class Breaker {
 public:
  void BreakReadFromNow(int64_t reads) { const std::lock_guard<std::mutex> lock(mutex_); countdown_ = reads; }
  void Repair() { const std::lock_guard<std::mutex> lock(mutex_); countdown_ = broken_ = -1; }
  bool Breaks(int64_t offset) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++reads_;
    if (countdown_ >= 0 && countdown_-- == 0) broken_ = offset;
    return offset == broken_;
  }
  int64_t reads() const { const std::lock_guard<std::mutex> lock(mutex_); return reads_; }

 private:
  mutable std::mutex mutex_;
  int64_t countdown_ = -1, broken_ = -1, reads_ = 0;
};

class BreakableDevice : public DeviceOverDevice {
 public:
  BreakableDevice(std::unique_ptr<BlockDevice> below, Breaker& breaker) : DeviceOverDevice(std::move(below)), breaker_(breaker) {}
  absl::Status Submit(const Read& read) override {
    breaks_[read.tag] = breaker_.Breaks(read.offset);
    return below_->Submit(read);
  }
  absl::Status Wait(std::vector<Completion>& done) override {
    const size_t before = done.size();
    const absl::Status status = below_->Wait(done);
    for (size_t i = before; i < done.size(); ++i) {
      if (breaks_[done[i].tag]) done[i].result = -EIO;
    }
    return status;
  }

 private:
  Breaker& breaker_;
  std::map<uint64_t, bool> breaks_;
};

}  // namespace tessera
