#include "tessera/base/clock.h"

#include <chrono>

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

}  // namespace tessera
