// Slows a device down to a flash profile, so that a phone's behaviour can be measured on a faster machine.
//
//   ASSIGN_OR_RETURN(FlashProfile flash, LoadFlashProfile("ufs4.0"));
//   ThrottledDevice device(std::move(opened.device), flash);
//
// The modeled flash serves one read after the other, in the order of submission. The speed is the profile's for the read's size and for the
// present number of reads in flight. No read completes before the latency has passed. The flash may catch up on up to 0.2 ms that were lost
// while no caller waited; this makes up for threads that wake late. A profile faster than the device cannot be kept: late() tells how far
// the device fell behind.
// Threads: as BlockDevice.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/storage/block_device.h"
#include "tessera/storage/flash_profile.h"

namespace tessera {

class ThrottledDevice : public BlockDevice {
 public:
  struct Options {
    const Clock* clock = nullptr;  // Null: the real one. Must outlive the device.
    std::function<void(int64_t nanos)> sleep = SleepNanos;
  };
  ThrottledDevice(std::unique_ptr<BlockDevice> device, FlashProfile profile, Options options)
      : device_(std::move(device)), profile_(std::move(profile)), options_(std::move(options)),
        clock_(&GivenOrRealClock(options_.clock)) {}
  ThrottledDevice(std::unique_ptr<BlockDevice> device, FlashProfile profile)
      : ThrottledDevice(std::move(device), std::move(profile), Options()) {}

  const std::string& path() const override { return device_->path(); }
  absl::string_view kind() const override { return device_->kind(); }
  int64_t size() const override { return device_->size(); }
  int depth() const override { return device_->depth(); }
  absl::Status Submit(const Read& read) override;
  absl::Status Wait(std::vector<Completion>& done) override;
  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) override;
  absl::Status CheckUnchanged() override { return device_->CheckUnchanged(); }

  // Returns the longest time that a read took beyond the profile's time, in nanoseconds.
  int64_t late() const { return late_; }

 private:
  struct InFlight {
    uint64_t tag;
    int64_t ready;                  // On the clock: when the modeled flash completes the read.
    std::optional<int64_t> result;  // Once the device has completed the read.
  };
  int64_t Serve(int64_t bytes, int depth);  // When the modeled flash completes a read that is submitted now.

  const std::unique_ptr<BlockDevice> device_;
  const FlashProfile profile_;
  Options options_;
  const Clock* const clock_;
  std::deque<InFlight> in_flight_;  // In the order of submission, and of `ready`.
  int64_t free_ = 0;                // When the modeled flash has served all submitted reads.
  int64_t late_ = 0;
};

}  // namespace tessera
