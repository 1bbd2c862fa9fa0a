// Speculation changes the number of passes, and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/ticking_clock.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

struct Outcome {
  Generation generation;
  std::vector<TokenId> held;
  std::vector<float> logits;
  std::string shown;
};

class Speculation : public ::testing::Test {
 protected:
  Outcome Run(Engine& engine, const Sampler& sampler, const GenerateOptions& options, std::unique_ptr<Drafter> drafter, int max_rows = 12) {
    if (drafter == nullptr) return RunWith(engine, sampler, options, nullptr);
    Speculator speculator(std::move(drafter), {.max_rows = max_rows, .weigh_costs = false});
    return RunWith(engine, sampler, options, &speculator);
  }

  Outcome RunWith(Engine& engine, const Sampler& sampler, GenerateOptions options, Speculator* speculator) {
    const auto session = Must(engine.NewSession());
    Must(session->Append(RandomTokens(30, 12)));
    options.speculator = speculator;
    Outcome outcome;
    options.on_text = [&](absl::string_view text) { outcome.shown.append(text.data(), text.size()); };
    outcome.generation = Must(Generate(*session, sampler, options));
    outcome.held.assign(session->tokens().begin(), session->tokens().end());
    outcome.logits.assign(session->logits().begin(), session->logits().end());
    return outcome;
  }

  void ExpectSame(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.generation.tokens, b.generation.tokens);
    EXPECT_EQ(a.generation.text, b.generation.text);
    EXPECT_EQ(a.generation.reason, b.generation.reason);
    EXPECT_EQ(a.held, b.held);
    EXPECT_EQ(a.shown, b.shown);
    ASSERT_EQ(a.logits.size(), b.logits.size());
    for (size_t i = 0; i < a.logits.size(); ++i) ASSERT_EQ(a.logits[i], b.logits[i]) << i;
  }
};

// What is measured for costs, too: with a clock that says the same, all that is decided by times is the same.
TEST_F(Speculation, ARunIsRepeatedByTheClockThatIsGiven) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 2}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 60, .ignore_end = true, .measure_seconds = 10};
  const std::vector<TokenId> text = Run(*engine, greedy, options, nullptr).generation.tokens;
  const auto run = [&](int64_t tick) {
    const TickingClock clock(tick);
    Speculator speculator(std::make_unique<ScriptedDrafter>(text, 3, engine->config().vocabulary), {.clock = &clock});
    RunWith(*engine, greedy, options, &speculator);
    return speculator.report();
  };
  const SpeculationReport first = run(1'000'000), second = run(1'000'000), slower = run(4'000'000);
  EXPECT_EQ(first.rows, second.rows);
  EXPECT_EQ(first.Seconds(), second.Seconds());
  EXPECT_EQ(first.predicted_seconds, second.predicted_seconds);
  EXPECT_EQ(first.rows, slower.rows);
  EXPECT_NEAR(slower.pass_seconds, 4 * first.pass_seconds, 1e-9);
}

// A pass of n rows gives n tokens at most, so of the last four tokens no more than four rows are worth while, and so on.
TEST_F(Speculation, NothingIsDraftedBeyondTheLastTokenThatIsWanted) {
  const auto engine = TinyEngine({.seed = 9}, {.compute = {.threads = 2}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  GenerateOptions options = {.max_tokens = 30, .ignore_end = true};
  const std::vector<TokenId> text = Run(*engine, greedy, options, nullptr).generation.tokens;
  options.max_tokens = 5;
  const Generation right = Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(text)).generation;
  EXPECT_EQ(right.passes, 1);
  EXPECT_EQ(right.rows, 4);
  const int vocabulary = engine->config().vocabulary;
  const Generation wrong = Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(text, 1, vocabulary)).generation;
  EXPECT_EQ(wrong.passes, 4);
  EXPECT_EQ(wrong.rows, 4 + 3 + 2 + 1);
  options.max_tokens = 0;  // To the context's end.
  EXPECT_EQ(Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(text)).generation.reason, FinishReason::kContextFull);
}

TEST_F(Speculation, NoDraftChangesTheText) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 2}});
  for (const float temperature : {0.0f, 0.9f}) {
    const Sampler sampler = Must(Sampler::Create({.temperature = temperature, .min_p = 0.01f, .repetition_penalty = 1.1f, .seed = 5}));
    const GenerateOptions options = {.max_tokens = 60, .ignore_end = true};
    const Outcome plain = Run(*engine, sampler, options, nullptr);
    EXPECT_EQ(plain.generation.passes, 59);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      ExpectSame(plain, Run(*engine, sampler, options,
                            std::make_unique<RandomDrafter>(engine->config().vocabulary, seed, plain.generation.tokens)));
    }
  }
}

TEST_F(Speculation, WhereAcceptedDraftsLieChangesNoBit) {
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 60, .ignore_end = true};
  const auto moved = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}});
  const auto left = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .hooks = Hooks({.compact_drafts = false})});
  const Outcome plain = Run(*moved, greedy, options, nullptr);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (Engine* const engine : {moved.get(), left.get()}) {
      ExpectSame(plain, Run(*engine, greedy, options,
                            std::make_unique<RandomDrafter>(engine->config().vocabulary, seed, plain.generation.tokens)));
    }
  }
}

TEST_F(Speculation, AnOracleSavesPassesAndAWrongOneNone) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 61, .ignore_end = true};
  const Outcome plain = Run(*engine, greedy, options, nullptr);
  const Outcome right = Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(plain.generation.tokens));
  const Outcome wrong =
      Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(plain.generation.tokens, 1, engine->config().vocabulary));
  ExpectSame(plain, right);
  ExpectSame(plain, wrong);
  EXPECT_EQ(right.generation.passes, 5);  // 12 rows each.
  EXPECT_EQ(wrong.generation.passes, 60);
}

TEST_F(Speculation, EndsWhereThePlainTextEnds) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const Outcome whole = Run(*engine, greedy, {.max_tokens = 40}, nullptr);
  for (int length = 1; length < 20; ++length) {
    const GenerateOptions by_length = {.max_tokens = length},
                          by_stop = {.max_tokens = 40, .stop = {whole.generation.text.substr(length, 2)}};
    for (const GenerateOptions& options : {by_length, by_stop}) {
      ExpectSame(Run(*engine, greedy, options, nullptr),
                 Run(*engine, greedy, options, std::make_unique<ScriptedDrafter>(whole.generation.tokens)));
    }
  }
}

TEST_F(Speculation, FillsTheContextToItsLastPosition) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 64}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const Outcome plain = Run(*engine, greedy, {.ignore_end = true}, nullptr);
  EXPECT_EQ(plain.generation.reason, FinishReason::kContextFull);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ExpectSame(plain, Run(*engine, greedy, {.ignore_end = true},
                          std::make_unique<RandomDrafter>(engine->config().vocabulary, seed, plain.generation.tokens)));
  }
}

// Costs as they are measured, and frozen ones: what is drafted follows them, the text does not.
TEST_F(Speculation, NoCostChangesTheText) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 2}});
  const Sampler sampler = Must(Sampler::Create({.temperature = 0.8f, .seed = 6}));
  const GenerateOptions options = {.max_tokens = 80, .ignore_end = true};
  const Outcome plain = Run(*engine, sampler, options, nullptr);
  for (const double row_seconds : {0.0, 1e-4, 1e-2}) {
    CostProfile frozen;
    for (const int rows : {1, 12}) frozen.AddPass({.rows = rows}, 1e-3 + row_seconds * (rows - 1));
    for (const int rows : {1, 12}) frozen.AddHead(rows, 1e-4 + row_seconds * (rows - 1));
    frozen.Freeze();
    CostProfile learning;
    for (CostProfile* const costs : {&frozen, &learning}) {
      std::vector<int64_t> passes;
      for (int run = 0; run < 3; ++run) {
        Speculator speculator(std::make_unique<RandomDrafter>(engine->config().vocabulary, 3, plain.generation.tokens), {.costs = costs});
        const Outcome outcome = RunWith(*engine, sampler, options, &speculator);
        ExpectSame(plain, outcome);
        passes.push_back(outcome.generation.passes);
      }
      if (costs != &frozen) continue;
      EXPECT_EQ(passes, std::vector<int64_t>(3, passes[0]));
    }
  }
}

// Right after the first token has been shown, in the session that goes on.
TEST_F(Speculation, MeasuringCostsChangesNoText) {
  for (const uint64_t scatter : {0, 7}) {
    const auto engine =
        TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 2}, .hooks = Hooks({.scatter_seed = scatter})});
    const Sampler sampler = Must(Sampler::Create({.temperature = 0.8f, .seed = 6}));
    GenerateOptions options = {.max_tokens = 60, .ignore_end = true};
    const Outcome plain = Run(*engine, sampler, options, nullptr);
    CostProfile costs;
    Speculator speculator(std::make_unique<RandomDrafter>(engine->config().vocabulary, 3, plain.generation.tokens), {.costs = &costs});
    EXPECT_EQ(speculator.CostsToMeasure(), &costs);
    options.measure_seconds = 0.05;
    bool known_at_first = true;
    options.on_token = [&](TokenId, absl::Span<const float>) { known_at_first = known_at_first && costs.KnowsPlain(); };
    ExpectSame(plain, RunWith(*engine, sampler, options, &speculator));
    EXPECT_FALSE(known_at_first) << "it was measured before the first token";
    EXPECT_EQ(speculator.CostsToMeasure(), nullptr) << "they are known";
    ExpectSame(plain, RunWith(*engine, sampler, options, &speculator));
  }
}

TEST_F(Speculation, ACancelWhileCostsAreMeasuredEndsTheText) {
  std::atomic<bool> cancel = false;
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .cancel = &cancel});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(30, 12)));
  Speculator speculator(std::make_unique<ScriptedDrafter>(std::vector<TokenId>(60, 1)), {});
  GenerateOptions options = {.max_tokens = 60, .ignore_end = true, .speculator = &speculator, .measure_seconds = 10};
  options.on_text = [&](absl::string_view) { cancel = true; };
  const Generation generation = Must(Generate(*session, Must(Sampler::Create({.temperature = 0})), options));
  EXPECT_EQ(generation.reason, FinishReason::kCancelled);
  EXPECT_EQ(generation.tokens.size(), 1u);
  EXPECT_EQ(session->length(), 30);
}

// Logits of two rows at once: drafts have two rows, and the text is the same.
TEST_F(Speculation, FewRowsOfLogitsMakeSmallDrafts) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows, and no budget fits";
  const PackedModel packed(TinyModelBuilder({.writes_letters = true, .seed = 9}));
  EngineOptions options = {
      .model_path = packed.path(), .compute = {.threads = 1}, .cache = {.context = 256}, .workload = {.logit_rows = 3}};
  options.streaming.memory_budget = Must(Must(Engine::Open(options))->planner().PlanBudget(int64_t{1} << 40)).least + (int64_t{8} << 20);
  const auto engine = Must(Engine::Load(options));
  EXPECT_EQ(CoreOf(*engine).logits_at_once(), 2);
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const Outcome plain = Run(*engine, greedy, {.max_tokens = 61, .ignore_end = true}, nullptr);
  const Outcome right =
      Run(*engine, greedy, {.max_tokens = 61, .ignore_end = true}, std::make_unique<ScriptedDrafter>(plain.generation.tokens));
  ExpectSame(plain, right);
  EXPECT_EQ(right.generation.passes, 30);
  const auto each = Must(engine->NewSession()), whole = Must(engine->NewSession());
  const std::vector<TokenId> text = RandomTokens(9, 5);
  Must(whole->Append(text));
  int seen = 0;
  std::vector<float> last;
  Must(each->AppendEach(text, [&](int index, absl::Span<const float> logits) {
    EXPECT_EQ(index, seen++);
    last.assign(logits.begin(), logits.end());
    return absl::OkStatus();
  }));
  EXPECT_EQ(seen, 9);
  for (size_t i = 0; i < last.size(); ++i) ASSERT_EQ(last[i], whole->logits()[i]);
}

TEST_F(Speculation, OneThatAnswersLateChangesNoTextAndIsPaused) {
  TickingClock clock(1000);   // A pass takes some microseconds, a draft 20 ms.
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .clock = &clock});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 100, .ignore_end = true};
  const Outcome plain = Run(*engine, greedy, options, nullptr);
  Speculator speculator(std::make_unique<SlowDrafter>(plain.generation.tokens, /*nanos=*/20'000'000, clock), {.clock = &clock});
  ExpectSame(plain, RunWith(*engine, greedy, options, &speculator));
  EXPECT_GT(speculator.report().sources[0].paused_steps, 0);
}

TEST_F(Speculation, TheReportAddsUp) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}});
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const GenerateOptions options = {.max_tokens = 61, .ignore_end = true};
  const Outcome plain = Run(*engine, greedy, options, nullptr);
  Speculator speculator(std::make_unique<ScriptedDrafter>(plain.generation.tokens), {.max_rows = 12, .weigh_costs = false});
  const Outcome right = RunWith(*engine, greedy, options, &speculator);
  const SpeculationReport report = speculator.report();
  EXPECT_EQ(report.steps, right.generation.passes);
  EXPECT_EQ(report.rows, right.generation.rows);
  EXPECT_EQ(report.tokens, 60);
  EXPECT_EQ(report.TokensPerStep(), 12);
  EXPECT_EQ(report.first_head_rows + report.later_head_rows, 60) << "a row of logits for each token, and none for nothing";
  EXPECT_EQ(report.sources[0].account.accepted, 55);
  EXPECT_GT(report.Seconds(), 0);
}

}  // namespace
}  // namespace tessera
