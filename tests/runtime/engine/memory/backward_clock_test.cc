// A clock that is given in and runs back: no time is below 0, nothing is divided by one, nothing waits for it, and no bit changes.
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/timeline.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/measure_costs.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/ticking_clock.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kBack = -3'000'000;   // At each look.

EngineOptions By(const Clock* clock, Timeline* timeline = nullptr) {
  return {.compute = {.threads = 2}, .cache = {.context = 256}, .timeline = timeline, .clock = clock};
}

void ExpectNoneBelowZero(const SpeculationReport& report) {
  EXPECT_GE(report.draft_seconds, 0);
  EXPECT_GE(report.pass_seconds, 0);
  EXPECT_GE(report.head_seconds, 0);
  EXPECT_GE(report.top_seconds, 0);
  EXPECT_GE(report.plain_seconds, 0);
  EXPECT_GE(report.compared_seconds, 0);
  EXPECT_GE(report.predicted_seconds, 0);
  for (const SpeculationReport::Source& source : report.sources) EXPECT_GE(source.account.seconds, 0) << source.name;
}

TEST(ABackwardClock, GivesAnAnswerNoTimeBelowZero) {
  const TickingClock clock(kBack);
  Timeline timeline({.clock = &clock});
  const auto engine = TinyEngine({.layers = 2, .writes_letters = true}, By(&clock, &timeline));
  const auto plain = TinyEngine({.layers = 2, .writes_letters = true}, By(nullptr));
  Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}, .clock = &clock}));
  Answerer expected = Must(Answerer::Create(*plain, {.sampling = {.temperature = 0}}));
  const std::vector<TokenId> prompt = {70, 71, 72};
  EXPECT_EQ(Must(answerer.Run(prompt, {.max_tokens = 12})).tokens, Must(expected.Run(prompt, {.max_tokens = 12})).tokens);
  const Timings& timings = answerer.timings();
  EXPECT_EQ(timings.prompt_seconds, 0);
  EXPECT_EQ(timings.generation_seconds, 0);
  EXPECT_EQ(timings.first_token_seconds, 0);
  EXPECT_EQ(timings.PromptRate(), std::nullopt) << "nothing is divided by no time";
  EXPECT_EQ(timings.GenerationRate(), std::nullopt);
  ASSERT_FALSE(timeline.Events().empty());
  for (const TimelineEvent& event : timeline.Events()) EXPECT_GE(event.end_ns, event.begin_ns);
}

TEST(ABackwardClock, GivesDraftsNoTimeBelowZero) {
  const TickingClock clock(kBack);
  const auto engine = TinyEngine({.layers = 2, .writes_letters = true}, By(&clock));
  for (const bool weigh_costs : {false, true}) {
    const auto session = Must(engine->NewSession());
    Must(session->Append({70, 71, 72}));
    Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, 3),
                          {.max_rows = 6, .weigh_costs = weigh_costs, .clock = &clock});
    const GenerateOptions options = {.max_tokens = 20, .ignore_end = true, .speculator = &speculator, .measure_seconds = 0.1};
    EXPECT_EQ(Must(Generate(*session, Must(Sampler::Create({.temperature = 0})), options)).tokens.size(), 20u);
    ExpectNoneBelowZero(speculator.report());
    EXPECT_GE(speculator.costs().PassSeconds({.rows = 4}), 0);
    EXPECT_GE(speculator.costs().HeadSeconds(4), 0);
  }
}

TEST(ABackwardClock, EndsMeasuringAndSteps) {
  const TickingClock clock(kBack);
  const auto engine = TinyEngine({.layers = 2, .writes_letters = true}, By(&clock));
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*session, {.seconds = 0.1, .most_rows = 8, .clock = &clock}, costs));
  for (const int rows : {1, 2, 8, 64}) EXPECT_GE(costs.PassSeconds({.rows = rows}), 0);
  const auto stepper = Must(Stepper::Create(*engine, {.costs = &costs, .clock = &clock}));
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    StreamOptions text = {.prompt = RandomTokens(5, static_cast<uint64_t>(i))};
    text.text.max_tokens = 8;
    text.on_end = [&](const absl::StatusOr<Generation>& result) { ended += result.ok(); };
    stepper->Submit(std::move(text));
  }
  Must(stepper->Run());
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace tessera
