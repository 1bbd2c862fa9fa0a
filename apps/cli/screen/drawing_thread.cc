#include "tessera/apps/cli/screen/drawing_thread.h"

#include <chrono>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/base/start_thread.h"

namespace tessera {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

}  // namespace

DrawingThread::DrawingThread(std::function<void()> draw) : draw_(std::move(draw)) {
  absl::StatusOr<std::thread> thread = StartThread([this] { DrawUntilDone(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

void DrawingThread::End() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void DrawingThread::DrawUntilDone() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [this] { return done_; })) draw_();
}

}  // namespace tessera
