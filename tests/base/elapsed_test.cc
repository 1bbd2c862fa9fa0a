#include "tessera/base/elapsed.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/progress.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

TEST(Elapsed, HeaderExample) {
  VirtualClock clock;
  double seconds = 0, draft_seconds = 0;
  const auto Seconds = [&] { return static_cast<double>(clock.NowNanos()) * 1e-9; };
  const double begin_seconds = Seconds();
  const int64_t begin = clock.NowNanos();
  clock.Advance(500'000'000);
  seconds += ElapsedSeconds(begin, clock.NowNanos());
  draft_seconds += ElapsedSeconds(begin_seconds, Seconds());
  EXPECT_EQ(seconds, 0.5);
  EXPECT_EQ(draft_seconds, 0.5);
}

TEST(Elapsed, AClockThatWentBackGivesNoTimeAndNoneIsBeyondTheLongest) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ElapsedNanos(5, 7), 2);
  EXPECT_EQ(ElapsedNanos(7, 5), 0);
  EXPECT_EQ(ElapsedNanos(kMost, kLeast), 0);
  EXPECT_EQ(ElapsedNanos(kLeast, kMost), kMost);
  EXPECT_EQ(ElapsedNanos(-1, kMost), kMost);
  EXPECT_EQ(ElapsedNanos(kLeast, kLeast + 3), 3);
  EXPECT_EQ(ElapsedSeconds(2.0, 1.0), 0);
}

// What is timed by a clock that is set back with each look.
TEST(AClockThatGoesBack, GivesAPoolNoTimesBelowZero) {
  const TickingClock clock(-1'000'000);
  ThreadPool pool(2);
  pool.CountTimes(true, clock);
  for (int i = 0; i < 5; ++i) pool.Run([&](int) { pool.Barrier(); });
  EXPECT_EQ(pool.times().runs, 0);
  EXPECT_EQ(pool.times().working, 0);
}

TEST(AClockThatGoesBack, GivesATimelineNoEventThatEndsBeforeItsBegin) {
  const TickingClock clock(-1'000'000);
  Timeline timeline({.clock = &clock});
  { TimelineScope scope(&timeline, Zone::kPass, 0); }
  ASSERT_EQ(timeline.Events().size(), 1u);
  EXPECT_EQ(timeline.Events()[0].end_ns, timeline.Events()[0].begin_ns);
}

// By then the clock is before the beginning of the line.
TEST(AClockThatGoesBack, KeepsNoLineOfProgressFromBeingShown) {
  TickingClock clock(0);
  std::string shown;
  Progress progress("packing", 100, {.clock = &clock, .write = [&](absl::string_view text) { absl::StrAppend(&shown, text); },
                                     .terminal = Progress::Options::kNo});
  clock.Advance(-3'600'000'000'000);
  progress.Update(10);
  clock.Advance(6'000'000'000);
  progress.Update(20);
  EXPECT_EQ(shown, "packing: 20 % (20 of 100), 0.0/s, 0 s\n");
  progress.Finish();
}

}  // namespace
}  // namespace tessera
