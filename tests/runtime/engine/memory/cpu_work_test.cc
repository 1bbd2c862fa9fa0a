// Work of the CPU beside passes is told to whoever charges a modeled machine for it, within the time that it is a part of.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/prompt.h"
#include "tessera/spec/drafters/calibrated_tree.h"
#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/ticking_clock.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kStep = 3'000'000, kSample = 2'000'000;

class CpuWorkOf : public testing::Test {
 protected:
  CpuWorkOf() {
    EngineOptions options = {.compute = {.threads = 1, .row_capacity = 48}, .cache = {.context = 2048}, .clock = &clock_};
    options.spend = [this](CpuWork work, int64_t amount) {
      (work == CpuWork::kDraftSteps ? steps_ : sampled_) += amount;
      clock_.Advance(amount * (work == CpuWork::kDraftSteps ? kStep : kSample));
    };
    engine_ = TinyEngine({.writes_letters = true, .seed = 9}, options);
  }
  Speculator::Options Drafting() const {
    return {.weigh_costs = false, .clock = &clock_, .drafted = SpendDraftStep(engine_->options())};
  }

  TickingClock clock_{1000};   // All else takes nothing, but for what is charged.
  int64_t steps_ = 0, sampled_ = 0;
  std::unique_ptr<Engine> engine_;
};

TEST_F(CpuWorkOf, AStepOfDraftersIsToldOnceAndIsPartOfTheTimeOfDrafting) {
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), Drafting());
  const auto session = Must(engine_->NewSession());
  Must(session->Append(RandomTokens(60, 3)));
  const Generation result = Must(Generate(*session, Must(Sampler::Create({.temperature = 0})),
                                          {.max_tokens = 40, .ignore_end = true, .speculator = &speculator}));
  EXPECT_GT(steps_, 0);
  EXPECT_LE(steps_, result.passes);
  EXPECT_GE(steps_, result.passes - 1) << "at the end there may be nothing left to draft";
  EXPECT_NEAR(speculator.report().draft_seconds, static_cast<double>(steps_ * kStep) * 1e-9, 5e-3);
  EXPECT_EQ(sampled_, 0);
}

TEST_F(CpuWorkOf, TokensOfAPromptWhoseLogitsAreSampledAreCounted) {
  Speculator speculator(std::make_unique<CalibratedTree>(), Drafting());
  const auto session = Must(engine_->NewSession());
  std::vector<TokenId> prompt = RandomTokens(400, 3);
  const int64_t begin = clock_.NowNanos();
  Must(AppendPrompt(*session, &speculator, prompt));
  EXPECT_GE(clock_.NowNanos() - begin, sampled_ * kSample);
  prompt.push_back(7);
  speculator.Begin(prompt);
  EXPECT_GT(sampled_, 0);
  EXPECT_EQ(sampled_, speculator.prompt().learnt);
  EXPECT_EQ(steps_, 0);
}

TEST_F(CpuWorkOf, AStepperTellsOfBoth) {
  Speculator speculator(std::make_unique<CalibratedTree>(), Drafting());
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(*engine_, {.measure_seconds = 0}));
  absl::StatusOr<Generation> written = absl::UnknownError("not ended");
  StreamOptions options = {.prompt = RandomTokens(400, 3), .sampling = {.temperature = 0}};
  options.text = {.max_tokens = 20, .ignore_end = true, .speculator = &speculator};
  options.on_end = [&](const absl::StatusOr<Generation>& result) { written = result; };
  stepper->Submit(std::move(options));
  Must(stepper->Run());
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_GT(sampled_, 0);
  EXPECT_EQ(sampled_, speculator.prompt().learnt);
  EXPECT_GT(steps_, 0);
  EXPECT_LE(steps_, written->passes);
}

TEST_F(CpuWorkOf, NobodyIsToldWhereNobodyAsks) { EXPECT_EQ(SpendDraftStep(EngineOptions()), nullptr); }

}  // namespace
}  // namespace tessera
