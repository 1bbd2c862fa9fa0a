#include "tessera/runtime/session/step_clock.h"

#include <gtest/gtest.h>

#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(StepClock, HeaderExample) {
  const std::unique_ptr<Engine> engine = TinyEngine({}, {.compute = {.threads = 1}});
  const LayerStreamer* streamer = engine->model().streamer();
  const StepClock clock(streamer);
  const double begin = clock.Seconds();
  const double seconds = clock.SecondsSince(begin);
  EXPECT_GE(seconds, 0);   // With weights in memory it is any clock.
}

TEST(StepClock, NoStepTakesLessThanNothing) {
  VirtualClock given;
  const StepClock clock(nullptr, given);
  const double begin = clock.Seconds();
  given.Advance(500'000'000);
  EXPECT_EQ(clock.SecondsSince(begin), 0.5);
  EXPECT_EQ(clock.SecondsSince(begin + 1), 0) << "as where reading ahead took a second and the given clock went on by half of it";
}

TEST(StepClock, AStepIsChargedForReadingItsOwnBytes) {
  // The device reads 100 MB/s all the time. A step of 1 s computes with 40 MB and leaves 60 MB to the next, which uses 100 MB in 0.4 s.
  const LayerStreamer::Stats before = {.bytes_read = 100'000'000, .bytes_used = 100'000'000, .read_nanos = 1'000'000'000};
  const LayerStreamer::Stats between = {.bytes_read = 200'000'000, .bytes_used = 140'000'000, .read_nanos = 2'000'000'000};
  const LayerStreamer::Stats after = {.bytes_read = 240'000'000, .bytes_used = 240'000'000, .read_nanos = 2'400'000'000};
  const double first = 1 - (StepClock::ReadAhead(between) - StepClock::ReadAhead(before));
  const double second = 0.4 - (StepClock::ReadAhead(after) - StepClock::ReadAhead(between));
  EXPECT_NEAR(first, 0.4, 1e-9);
  EXPECT_NEAR(second, 1, 1e-9);
  EXPECT_EQ(StepClock::ReadAhead({}), 0);
}

}  // namespace
}  // namespace tessera
