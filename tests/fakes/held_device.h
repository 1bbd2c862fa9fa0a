// A block device that records the offsets of reads, and holds one of these reads back until released.
//
//   HeldRead held;
//   held.Hold(file->UnitOffset(3));
//   options.wrap_device = held.Wrap();                       // the device must end before `held`
//   ... the others come ...
//   held.LetGo();
//
// After a minute the read completes in any case, so that a failing test ends. A HeldRead is thread-safe; a device is used on one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/device_over_device.h"

namespace tessera {

class HeldRead {
 public:
  void Hold(int64_t offset) { const std::lock_guard<std::mutex> lock(mutex_); held_ = offset; }
  void LetGo() { Hold(-1); }
  // Returns offsets of all reads, in the order of submission.
  std::vector<int64_t> asked() const { const std::lock_guard<std::mutex> lock(mutex_); return asked_; }

  // For LayerStreamer::Options::wrap_device.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> Wrap();

 private:
  friend class HeldDevice;
  bool Holds(int64_t offset) const { const std::lock_guard<std::mutex> lock(mutex_); return offset == held_; }
  void Ask(int64_t offset) { const std::lock_guard<std::mutex> lock(mutex_); asked_.push_back(offset); }

  mutable std::mutex mutex_;
  int64_t held_ = -1;
  std::vector<int64_t> asked_;
};

class HeldDevice : public DeviceOverDevice {
 public:
  HeldDevice(std::unique_ptr<BlockDevice> below, HeldRead& held) : DeviceOverDevice(std::move(below)), held_(held) {}

  absl::Status Submit(const Read& read) override {
    held_.Ask(read.offset);
    offset_of_[read.tag] = read.offset;
    ++below_in_flight_;
    return below_->Submit(read);
  }

  // Returns no completion while only the held read is in flight: the streamer may submit more meanwhile.
  absl::Status Wait(std::vector<Completion>& done) override {
    std::vector<Completion> came = std::exchange(kept_, {});
    if (came.empty() || held_.Holds(offset_of_[came[0].tag])) {
      kept_ = std::exchange(came, {});
      if (below_in_flight_ == 0) {
        if (!patience_.Pause()) held_.LetGo();
      } else if (const absl::Status status = below_->Wait(came); !status.ok()) {
        return status;
      }
      below_in_flight_ -= static_cast<int>(came.size());
    }
    for (const Completion& completion : came) (held_.Holds(offset_of_[completion.tag]) ? kept_ : done).push_back(completion);
    return absl::OkStatus();
  }

 private:
  HeldRead& held_;
  std::map<uint64_t, int64_t> offset_of_;  // By tag.
  std::vector<Completion> kept_;           // The held read, once the device below completes the read.
  int below_in_flight_ = 0;
  Patience patience_;                      // Starts when only the held read remains.
};

inline std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> HeldRead::Wrap() {
  return [this](std::unique_ptr<BlockDevice> below) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<HeldDevice>(std::move(below), *this);
  };
}

}  // namespace tessera
