// A block device that records the priorities of threads that read from the device.
//
//   std::set<ThreadPriority> seen;
//   options.wrap_device = [&](std::unique_ptr<BlockDevice> below) { return std::make_unique<PriorityDevice>(std::move(below), seen); };
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tessera/tests/fakes/device_over_device.h"

namespace tessera {

using ThreadPriority = std::pair<int, int>;  // The scheduler's policy, and the nice value.

inline ThreadPriority PriorityOfThisThread() {
  return {sched_getscheduler(0), getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))};
}

class PriorityDevice : public DeviceOverDevice {
 public:
  // `seen` must outlive the device, and may be read once the device is gone.
  PriorityDevice(std::unique_ptr<BlockDevice> below, std::set<ThreadPriority>& seen) : DeviceOverDevice(std::move(below)), seen_(seen) {}
  absl::Status Submit(const Read& read) override {
    seen_.insert(PriorityOfThisThread());
    return below_->Submit(read);
  }
  absl::Status Wait(std::vector<Completion>& done) override { return below_->Wait(done); }

 private:
  std::set<ThreadPriority>& seen_;
};

}  // namespace tessera
