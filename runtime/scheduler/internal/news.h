// Wakes the thread that drives a scheduler after a change: a new request, a cancelled request, or a reader that has made room.
//
//   auto news = std::make_shared<News>();             // outlives the stepper where a queue still knows it
//   news->Clear();                                    // driving thread: whatever changes from now on
//   news->Await(std::chrono::milliseconds(50));       //   ends this wait, or it ends by itself
//   news->Tell();                                     // any thread
//
// Threads: thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tessera {

// A flag that one thread waits for and any thread sets.
class News {
 public:
  void Tell() {
    const std::lock_guard<std::mutex> lock(mutex_);
    told_ = true;
    changed_.notify_all();
  }
  void Clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    told_ = false;
  }
  void Await(std::chrono::milliseconds most) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, most, [this] { return told_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
};

}  // namespace tessera
