#include "tessera/base/clock.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Clock, HeaderExample) {
  const Clock& clock = RealClock();
  int64_t start = clock.NowNanos();
  VirtualClock virtual_clock;  virtual_clock.Advance(1'500);
  EXPECT_GE(clock.NowNanos(), start);
  EXPECT_EQ(virtual_clock.NowNanos(), 1'500);
}

TEST(Clock, SleepsAtLeastAsLongAsAsked) {
  const int64_t begin = RealClock().NowNanos();
  SleepNanos(2'000'000);
  EXPECT_GE(RealClock().NowNanos() - begin, 2'000'000);
  SleepNanos(-1);
}

TEST(RealClock, CountsNanosecondsAndNeverGoesBack) {
  const int64_t begin = RealClock().NowNanos();
  SleepNanos(2'000'000);
  int64_t last = RealClock().NowNanos();
  EXPECT_GE(last - begin, 2'000'000);
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = RealClock().NowNanos();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(VirtualClock, MovesOnlyWhenAdvanced) {
  VirtualClock clock;
  EXPECT_EQ(clock.NowNanos(), 0);
  clock.Advance(5);
  clock.Advance(7);
  EXPECT_EQ(clock.NowNanos(), 12);
}

}  // namespace
}  // namespace tessera
