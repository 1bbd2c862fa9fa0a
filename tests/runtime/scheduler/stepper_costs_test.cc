// What a stepper learns of costs: by which clock, from which passes, and with how many rows.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

constexpr double kTick = 0.001;   // That a pass takes by the clock: it is looked at before and after it.

// A pass of a row takes a tick, and so do its logits.
void LearnPlain(CostProfile& costs) {
  for (int i = 0; i < 3; ++i) costs.AddPass({.rows = 1}, kTick), costs.AddHead(1, kTick);
}

TEST(StepperCosts, OnlyCostsThatAreNotKnownAreMeasured) {
  for (const bool known : {true, false}) {
    const auto engine = SmallEngine();
    const TickingClock clock(1'000'000);
    CostProfile costs;
    if (known) LearnPlain(costs);
    const auto stepper = Must(Stepper::Create(*engine, {.costs = &costs, .measure_seconds = 10, .clock = &clock}));
    EXPECT_FALSE(Must(stepper->Step()));
    EXPECT_EQ(engine->stats().rows > 0, !known);
    EXPECT_TRUE(costs.KnowsPlain());
  }
}

// The row of the text that is written counts as those of the prompt do.
TEST(StepperCosts, APassWithAPromptIsLearntWithAllItsRows) {
  const auto engine = SmallEngine();
  const TickingClock clock(1'000'000);
  CostProfile costs;
  LearnPlain(costs);
  const auto stepper = Must(Stepper::Create(*engine, {.costs = &costs, .most_gap = 1000, .clock = &clock}));
  stepper->Submit(TextNumber(0, /*tokens=*/40));
  for (int step = 0; step < 2; ++step) EXPECT_TRUE(Must(stepper->Step()));
  StreamOptions second = TextNumber(1);
  second.prompt = RandomTokens(20, 9);
  stepper->Submit(std::move(second));
  const StepperReport before = stepper->report();
  EXPECT_TRUE(Must(stepper->Step()));
  ASSERT_EQ(stepper->report().prompt_rows - before.prompt_rows, 20);
  ASSERT_EQ(stepper->report().rows - before.rows, 21);
  EXPECT_NEAR(costs.PromptPassSeconds({.rows = 1}, 20), kTick, 1e-9);
}

}  // namespace
}  // namespace tessera
