#include "tessera/runtime/scheduler/text_queue.h"

#include <utility>

#include <glog/logging.h>

namespace tessera {

TextQueue::TextQueue(size_t most_bytes) : most_bytes_(most_bytes) { CHECK_GE(most_bytes, 1u); }

std::optional<std::string> TextQueue::Read() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !text_.empty() || ended_ || dropped_; });
  if (text_.empty()) return std::nullopt;
  const bool was_full = text_.size() >= most_bytes_;
  std::string text = std::exchange(text_, {});
  const std::function<void()> on_room = was_full ? on_room_ : nullptr;
  lock.unlock();
  if (on_room) on_room();
  return text;
}

void TextQueue::Drop() {
  std::unique_lock<std::mutex> lock(mutex_);
  dropped_ = true;
  text_.clear();
  const std::function<void()> on_room = on_room_;
  lock.unlock();
  changed_.notify_all();
  if (on_room) on_room();
}

bool TextQueue::full() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return text_.size() >= most_bytes_;
}

void TextQueue::Write(absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dropped_) return;
  text_.append(text.data(), text.size());
  changed_.notify_all();
}

void TextQueue::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  on_room_ = nullptr;
  changed_.notify_all();
}

void TextQueue::OnRoom(std::function<void()> on_room) {
  const std::lock_guard<std::mutex> lock(mutex_);
  on_room_ = std::move(on_room);
}

}  // namespace tessera
