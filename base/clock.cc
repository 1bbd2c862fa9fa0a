#include "tessera/base/clock.h"

#include <chrono>
#include <thread>

namespace tessera {
namespace {

class SteadyClock : public Clock {
 public:
  int64_t NowNanos() const override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

}  // namespace

const Clock& RealClock() {
  static const SteadyClock clock;
  return clock;
}

void SleepNanos(int64_t nanos) { std::this_thread::sleep_for(std::chrono::nanoseconds(nanos)); }

}  // namespace tessera
