#include "tessera/base/clock.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

namespace tessera {
namespace {

// Stands still if the system's clock goes back. The clock should not go back, but does on some virtual machines that are moved.
class SteadyClock : public Clock {
 public:
  int64_t NowNanos() const override {
    const int64_t now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    int64_t latest = latest_.load(std::memory_order_relaxed);
    while (latest < now && !latest_.compare_exchange_weak(latest, now, std::memory_order_relaxed)) {}
    return latest < now ? now : latest;
  }

 private:
  mutable std::atomic<int64_t> latest_{std::numeric_limits<int64_t>::min()};
};

}  // namespace

const Clock& RealClock() {
  static const SteadyClock clock;
  return clock;
}

void SleepNanos(int64_t nanos) { std::this_thread::sleep_for(std::chrono::nanoseconds(nanos)); }

}  // namespace tessera
