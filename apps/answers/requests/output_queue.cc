#include "tessera/apps/answers/requests/output_queue.h"

#include <utility>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/start_thread.h"

namespace tessera {

OutputQueue::OutputQueue() {
  absl::StatusOr<std::thread> thread = StartThread([this] { WriteAll(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

OutputQueue::~OutputQueue() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  pushed_.notify_one();
  thread_.join();
}

void OutputQueue::Push(std::string text) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!thread_.joinable()) {
    if (status_.ok()) status_ = WriteOutput(text);
    return;
  }
  written_.wait(lock, [&] { return bytes_ == 0 || bytes_ + text.size() <= kMostBytes || !status_.ok(); });
  if (!status_.ok()) return;
  bytes_ += text.size();
  texts_.push_back(std::move(text));
  pushed_.notify_one();
}

absl::Status OutputQueue::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  written_.wait(lock, [&] { return texts_.empty() || !status_.ok(); });
  return status_;
}

absl::Status OutputQueue::status() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

void OutputQueue::WriteAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    pushed_.wait(lock, [&] { return closed_ || !texts_.empty(); });
    if (closed_) return;
    const std::string& text = texts_.front();   // Stays in place: a deque moves no element when others come.
    lock.unlock();
    absl::Status written = WriteOutput(text);
    lock.lock();
    bytes_ -= text.size();
    texts_.pop_front();
    status_.Update(written);
    written_.notify_all();
    if (!status_.ok()) return;
  }
}

}  // namespace tessera
