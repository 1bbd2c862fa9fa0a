// A block device that reads on its own thread, at any time, as hardware does. Memory that is freed or reused too early is written to.
//
//   LateDevice device(std::make_unique<MemoryDevice>(RandomBytes(1 << 20, /*seed=*/1), /*depth=*/8), /*seed=*/7);
//   BlockReader(device).Start(extent);                        // and destroyed at once
//   EXPECT_EQ(device.in_flight(), 0);
//
// The order of reads, and the amount of computing before each, follow from the seed. CHECKs that no two reads in flight go to the same
// bytes. On destruction, CHECKs that the memory of reads in flight still exists, by writing to it. Used on one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/device_over_device.h"

namespace tessera {

class LateDevice : public DeviceOverDevice {
 public:
  LateDevice(std::unique_ptr<BlockDevice> below, uint64_t seed)
      : DeviceOverDevice(std::move(below)), random_(seed), thread_([this] { Run(); }) {}
  ~LateDevice() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();  // After the last read.
  }

  int in_flight() const { return in_flight_; }

  absl::Status Submit(const Read& read) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Read& other : reads_) CHECK(Apart(read, other)) << "to the same bytes: " << read.offset << " and " << other.offset;
    CHECK_LT(in_flight_++, depth());
    reads_.push_back(read);
    changed_.notify_all();
    return absl::OkStatus();
  }

  absl::Status Wait(std::vector<Completion>& done) override {
    std::unique_lock<std::mutex> lock(mutex_);
    CHECK_GT(in_flight_, 0);
    changed_.wait(lock, [this] { return !done_.empty(); });
    in_flight_ -= static_cast<int>(done_.size());
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
    return absl::OkStatus();
  }

 private:
  static bool Apart(const Read& a, const Read& b) {
    return a.out.data() + a.out.size() <= b.out.data() || b.out.data() + b.out.size() <= a.out.data();
  }

  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !reads_.empty(); });
      if (reads_.empty()) return;
      const auto next = reads_.begin() + random_.Below(static_cast<int64_t>(reads_.size()));
      const Read read = *next;
      const int64_t steps = random_.Below(300);
      lock.unlock();
      Dawdle(steps);
      const int64_t result = below_->ReadPlain(read.offset, read.out);
      lock.lock();
      std::erase_if(reads_, [&](const Read& other) { return other.tag == read.tag; });
      done_.push_back({read.tag, result});
      changed_.notify_all();
    }
  }

  SeededRandom random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Read> reads_;       // Not done yet.
  std::vector<Completion> done_;
  int in_flight_ = 0;             // Submitted and not handed out.
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera
