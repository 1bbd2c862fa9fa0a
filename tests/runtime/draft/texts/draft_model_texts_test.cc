// A model that another one drafts for writes its own text: with any draft, alone and in company.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/draft/model_expander.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/small_texts.h"

namespace tessera {
namespace {

std::unique_ptr<Speculator> Drafting(std::shared_ptr<Engine> draft, const Engine& target, absl::string_view policy, int max_rows = 12) {
  auto expander = Must(ModelExpander::Create(std::move(draft), {.vocabulary = target.config().vocabulary}));
  auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), Must(MakeTreePolicy(policy, {})), ExpandingDrafter::Options());
  return std::make_unique<Speculator>(std::move(drafter), Speculator::Options{.max_rows = max_rows, .weigh_costs = false});
}

const DraftAccount& AccountOf(const SpeculationReport& report) { return report.sources[0].account; }

Generation Write(Engine& engine, const std::vector<TokenId>& prompt, const Sampler& sampler, int tokens, Speculator* speculator) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(prompt));
  return Must(Generate(*session, sampler, {.max_tokens = tokens, .ignore_end = true, .speculator = speculator}));
}

// It says what the target says: four of the five tokens of each pass were drafted, and the draft computes each once.
TEST(DraftModelTexts, ADraftThatIsTheTargetIsRightEachTime) {
  constexpr int kTokens = 41;
  const TinyModel model = {.seed = 9};
  ThreadPool pool(2);
  const auto target = TinyEngine(model, {.compute = {.pool = &pool}});
  const std::shared_ptr<Engine> draft = TinyEngine(model, {.compute = {.pool = &pool, .row_capacity = 16}});
  const std::vector<TokenId> prompt = RandomTokens(30, 12);
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const Generation plain = Write(*target, prompt, greedy, kTokens, nullptr);
  const auto speculator = Drafting(draft, *target, "chain:tokens=4", /*max_rows=*/5);
  const Generation drafted = Write(*target, prompt, greedy, kTokens, speculator.get());
  EXPECT_EQ(drafted.tokens, plain.tokens);
  EXPECT_EQ(drafted.passes, (kTokens - 2) / 5 + 1);
  const SpeculationReport report = speculator->report();
  EXPECT_EQ(AccountOf(report).accepted, AccountOf(report).verified);
  EXPECT_EQ(AccountOf(report).failures, 0) << AccountOf(report).failure;
  EXPECT_LE(draft->stats().rows, static_cast<int64_t>(prompt.size()) + kTokens);
}

TEST(DraftModelTexts, NoDraftChangesTheText) {
  ThreadPool pool(2);
  const auto target = TinyEngine({.seed = 9}, {.compute = {.pool = &pool}});
  const std::vector<TokenId> prompt = RandomTokens(30, 12);
  constexpr int kTokens = 40;
  for (const float temperature : {0.0f, 0.9f}) {
    const Sampler sampler = Must(Sampler::Create({.temperature = temperature, .seed = 5}));
    const Generation plain = Write(*target, prompt, sampler, kTokens, nullptr);
    for (uint64_t seed = 9; seed < 11; ++seed) {   // The first is the target.
      for (const std::string& policy : TreePolicyNames()) {
        SCOPED_TRACE(testing::Message() << policy << ", draft " << seed << ", temperature " << temperature);
        const std::shared_ptr<Engine> draft = TinyEngine({.seed = seed}, {.compute = {.pool = &pool}});
        const auto speculator = Drafting(draft, *target, policy);
        const Generation drafted = Write(*target, prompt, sampler, kTokens, speculator.get());
        EXPECT_EQ(drafted.tokens, plain.tokens);
        EXPECT_EQ(drafted.text, plain.text);
        const SpeculationReport report = speculator->report();
        EXPECT_GT(AccountOf(report).calls, 0);
        EXPECT_EQ(AccountOf(report).failures, 0) << AccountOf(report).failure;
      }
    }
  }
}

// The draft's context ends first: the target writes on alone, and it is known why.
TEST(DraftModelTexts, ATextGoesOnWhereItsDraftEnds) {
  const auto target = TinyEngine({.seed = 9}, {.compute = {.threads = 1}});
  const std::shared_ptr<Engine> draft = TinyEngine({.seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 48}});
  const std::vector<TokenId> prompt = RandomTokens(30, 12);
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const Generation plain = Write(*target, prompt, greedy, /*tokens=*/60, nullptr);
  const auto speculator = Drafting(draft, *target, "chain:tokens=4");
  const Generation drafted = Write(*target, prompt, greedy, /*tokens=*/60, speculator.get());
  EXPECT_EQ(drafted.tokens, plain.tokens);
  EXPECT_LT(drafted.passes, plain.passes - 8);
  const SpeculationReport report = speculator->report();
  EXPECT_EQ(AccountOf(report).failure.code(), absl::StatusCode::kResourceExhausted) << AccountOf(report).failure;
  EXPECT_NE(report.Failures().find("the draft's context"), std::string::npos) << report.Failures();
}

// One draft for all texts of a stepper, with the threads of its target.
TEST(DraftModelTexts, TextsOfAStepperShareADraft) {
  constexpr int kTexts = 4;
  ThreadPool pool(2);
  const auto target = TinyEngine({.layers = 2, .writes_letters = true},   // As that of Alone.
                                 {.compute = {.pool = &pool, .row_capacity = 32}, .cache = {.context = 256}});
  const std::shared_ptr<Engine> draft =
      TinyEngine({.layers = 1, .writes_letters = true}, {.compute = {.pool = &pool}, .cache = {.context = 256, .cache_tokens = 1024}});
  std::vector<std::unique_ptr<Speculator>> speculators;
  Answers answers;
  const auto stepper = Must(Stepper::Create(*target, {}));
  for (int number = 0; number < kTexts; ++number) {
    speculators.push_back(Drafting(draft, *target, number % 2 == 0 ? "chain:tokens=4" : "specinfer"));
    StreamOptions options = TextNumber(number);
    options.text.speculator = speculators.back().get();
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  ASSERT_EQ(answers.texts.size(), static_cast<size_t>(kTexts));
  for (int number = 0; number < kTexts; ++number) {
    EXPECT_EQ(answers.texts[number].tokens, Alone(TextNumber(number)).tokens) << number;
    const SpeculationReport report = speculators[number]->report();
    EXPECT_GT(AccountOf(report).proposed, 0) << number;
    EXPECT_EQ(AccountOf(report).failures, 0) << AccountOf(report).failure;
  }
}

}  // namespace
}  // namespace tessera
