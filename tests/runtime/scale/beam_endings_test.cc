// How a beam search ends, what it refuses, and what memory is planned for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/scale/beam_run.h"
#include "tessera/tests/fakes/lone_search.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

class CallingScorer : public Scorer {
 public:
  explicit CallingScorer(std::function<absl::StatusOr<double>(const SampleText& sample, int number)> score) : score_(std::move(score)) {}
  absl::string_view name() const override { return "calling"; }
  absl::StatusOr<double> Score(const SampleText& sample) override { return score_(sample, number_++); }

 private:
  const std::function<absl::StatusOr<double>(const SampleText& sample, int number)> score_;
  int number_ = 0;
};

TEST(BeamEndings, AllBeamsMayEndInTheFirstStep) {
  BeamRunOptions options = {.beams = {.width = 2, .expansions = 2, .delimiter = "\n"}, .max_tokens = 30,
                            .sampling = {.temperature = 1, .seed = 2}};
  for (char letter = 'a'; letter <= 'z'; ++letter) options.stop.emplace_back(1, letter);
  const auto engine = EngineFor(LettersModel(), options);
  HashScorer scorer;
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(10, 3), scorer, options));
  EXPECT_EQ(written.steps, 4);
  ASSERT_EQ(written.texts.size(), 2u);
  for (const BeamText& text : written.texts) {
    EXPECT_EQ(text.reason, FinishReason::kStopString);
    EXPECT_EQ(text.text, "");
    EXPECT_EQ(text.tokens.size(), 1u);
  }
}

TEST(BeamEndings, ATextThatEndsInTheFirstStepLeavesItsPlace) {
  int of_first_steps = 0, later = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    BeamRunOptions options = {.beams = {.width = 4, .expansions = 2, .delimiter = "e", .most_steps = 6}, .max_step_tokens = 5,
                              .max_tokens = 25, .sampling = {.temperature = 1, .seed = seed}};
    for (char letter = 'f'; letter <= 'l'; ++letter) options.stop.emplace_back(1, letter);
    BeamTexts written;
    CompareWithLone(LettersModel(), options, /*prompt_tokens=*/16, {}, &written);
    for (const BeamText& text : written.texts) (text.path.size() == 1 ? of_first_steps : later) += 1;
  }
  EXPECT_GT(of_first_steps, 0);
  EXPECT_GT(later, 0);
}

TEST(BeamEndings, AnErrorOfTheScorerSaysWhereAndTheEngineGoesOn) {
  const BeamRunOptions options = {.beams = {.width = 2, .expansions = 2, .delimiter = "e"}, .max_step_tokens = 4, .max_tokens = 20,
                                  .sampling = {.temperature = 1}};
  const auto engine = EngineFor(LettersModel(), options);
  CallingScorer fails([](const SampleText&, int number) -> absl::StatusOr<double> {
    if (number == 6) return absl::DataLossError("a score was lost");
    return 1.0;
  });
  const absl::Status error = RunBeams(*engine, RandomTokens(9, 1), fails, options).status();
  EXPECT_EQ(error.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(error.message(), "beam search, step 2, text 3 of 4, scorer calling: a score was lost");
  HashScorer scorer;
  EXPECT_TRUE(RunBeams(*engine, RandomTokens(9, 1), scorer, options).ok());
}

TEST(BeamEndings, AScoreThatIsNoNumberIsBelowAllOthers) {
  const BeamRunOptions options = {.beams = {.width = 2, .expansions = 2, .delimiter = "e", .most_steps = 1}, .max_step_tokens = 4,
                                  .max_tokens = 20, .sampling = {.temperature = 1}};
  const auto engine = EngineFor(LettersModel(), options);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CallingScorer some([&](const SampleText&, int number) { return number == 2 ? -1e9 : nan; });
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(9, 1), some, options));
  EXPECT_EQ(written.best().path, std::vector<int>{2});
  ASSERT_EQ(written.texts.size(), 2u);
  EXPECT_TRUE(std::isnan(written.texts[1].score));
  CallingScorer none([&](const SampleText&, int) { return nan; });
  EXPECT_EQ(Must(RunBeams(*engine, RandomTokens(9, 1), none, options)).best().path, std::vector<int>{0});
}

// A scorer that runs the engine itself, as those with a model do.
TEST(BeamEndings, AScorerMayRunPassesOfTheEngine) {
  const BeamRunOptions options = {.beams = {.width = 2, .expansions = 2, .delimiter = "e", .most_steps = 3}, .max_step_tokens = 6,
                                  .max_tokens = 20, .sampling = {.temperature = 1}};
  const auto engine = EngineFor(LettersModel(), options);
  CallingScorer by_model([&](const SampleText& sample, int) -> absl::StatusOr<double> {
    const auto session = Must(engine->NewSession());
    Must(session->Append(sample.prompt));
    Must(session->Append(sample.tokens));
    EXPECT_EQ(sample.text.size(), sample.tokens.size()) << "letters";
    EXPECT_EQ(sample.problem, "");
    return session->logits()['a'];
  });
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(9, 1), by_model, options));
  EXPECT_EQ(written.texts.size(), 2u);
}

class StoppingClock : public Clock {
 public:
  explicit StoppingClock(std::atomic<bool>& flag) : flag_(flag) {}
  void StopAfter(int calls) { left_ = calls; }
  int64_t NowNanos() const override {
    if (--left_ == 0) flag_ = true;
    return ++now_;
  }

 private:
  mutable std::atomic<int> left_ = 0;
  mutable std::atomic<int64_t> now_ = 0;
  std::atomic<bool>& flag_;
};

TEST(BeamEndings, IsCancelledDuringWritingAndDuringScoring) {
  for (const bool of_engine : {false, true}) {
    for (const int calls : {1, 7, 20}) {
      std::atomic<bool> cancel = false;
      StoppingClock clock(cancel);
      EngineOptions engine_options = {.clock = &clock};
      BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "e"}, .max_tokens = 100,
                                .sampling = {.temperature = 1}};
      (of_engine ? engine_options.cancel : options.cancel) = &cancel;
      const auto engine = EngineFor(LettersModel(), options, engine_options);
      HashScorer scorer;
      clock.StopAfter(calls);
      EXPECT_TRUE(absl::IsCancelled(RunBeams(*engine, RandomTokens(9, 1), scorer, options).status())) << calls;
      cancel = false;
      EXPECT_TRUE(RunBeams(*engine, RandomTokens(9, 1), scorer, options).ok()) << "it goes on";
      CallingScorer cancels([&](const SampleText&, int number) {
        cancel = number == 5;
        return 0.0;
      });
      EXPECT_TRUE(absl::IsCancelled(RunBeams(*engine, RandomTokens(9, 1), cancels, options).status()));
    }
  }
}

TEST(BeamEndings, ImpossibleOptionsAreNamed) {
  const auto field = [](const BeamRunOptions& options) { return FieldOf(CheckBeams(options)); };
  EXPECT_EQ(field({.beams = {.width = 0}}), "width");
  EXPECT_EQ(field({.beams = {.delimiter = ""}}), "delimiter");
  EXPECT_EQ(field({.beams = {.width = 9, .expansions = 8}}), "beam");
  EXPECT_EQ(field({.max_step_tokens = 0}), "max_step_tokens");
  EXPECT_EQ(field({.max_tokens = -1}), "max_tokens");
  EXPECT_EQ(field({.sampling = {.top_p = 2}}), "top_p");
  EXPECT_EQ(field({.sampling = {.repetition_penalty = 1.1f}}), "repetition_penalty");
  EXPECT_EQ(field({.sampling = {.repetition_penalty = 1.1f, .penalty_window = 0}}), "");
  for (const SamplingOptions& likeliest : {SamplingOptions{.temperature = 0}, SamplingOptions{.top_k = 1}, SamplingOptions{.min_p = 1}}) {
    EXPECT_EQ(field({.beams = {.width = 4, .expansions = 1}, .sampling = likeliest}), "beam");
    EXPECT_EQ(field({.beams = {.width = 1, .expansions = 1}, .sampling = likeliest}), "");
  }
  EXPECT_EQ(CheckBeams({.beams = {.width = 9, .expansions = 8}}).message(), "beam: found 9x8, 72 texts, expected at most 64");
  const BeamRunOptions options = {.max_tokens = 4};
  const auto engine = EngineFor(LettersModel(), options);
  HashScorer scorer;
  EXPECT_EQ(RunBeams(*engine, {}, scorer, options).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LimitOf(RunBeams(*engine, RandomTokens(engine->context() + 1, 1), scorer, options).status()), "context");
  EXPECT_EQ(scorer.scored(), 0);
}

TEST(BeamEndings, PlansHaveRoomForWholeTextsOfTheWidthAndAStepOfEachRow) {
  EngineOptions engine;
  Must(PlanBeams({.beams = {.width = 4, .expansions = 4}, .max_step_tokens = 256, .max_tokens = 512}, engine));
  EXPECT_EQ(engine.workload.sessions, 16);
  EXPECT_EQ(engine.cache.text_share, (kUsualText + 4 * 512 + 16 * 256) / 16);
  EXPECT_EQ(engine.workload.logit_rows, 1 + 16);
  EngineOptions short_texts;
  Must(PlanBeams({.beams = {.width = 2, .expansions = 3}, .max_step_tokens = 256, .max_tokens = 32}, short_texts));
  EXPECT_EQ(short_texts.cache.text_share, (kUsualText + 2 * 32 + 6 * 32 + 5) / 6) << "no step is longer than a text";
}

// With the least memory that works, the search is within the budget and finds the same; a budget for one text alone is refused.
TEST(BeamEndings, APlannedSearchStaysWithinItsBudget) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const PackedModel packed(TinyModelBuilder({.width = 128, .heads = 8, .kv_heads = 8, .head_size = 256, .context = 2048}));
  const BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "a", .most_steps = 3}, .max_step_tokens = 64,
                                  .max_tokens = 128, .sampling = AnyToken(2)};
  const std::vector<TokenId> prompt = RandomTokens(100, 5);
  HashScorer scorer;
  EngineOptions one = {.model_path = packed.path(), .compute = {.threads = 1, .row_capacity = 64}, .cache = {.context = 512}};
  EngineOptions planned = one;
  Must(PlanBeams(options, planned));
  const auto least = [](const EngineOptions& engine) {
    return Must(Must(Engine::Open(engine))->planner().PlanBudget(int64_t{1} << 40)).least;
  };
  const BeamTexts expected = Must(RunBeams(*Must(Engine::Load(planned)), prompt, scorer, options));
  const int64_t budget = least(planned) + (int64_t{4} << 20);   // What a process has grows from engine to engine.
  EXPECT_GT(budget, least(one) + (int64_t{16} << 20)) << "texts take what is seen";
  planned.streaming.memory_budget = budget;
  const auto engine = Must(Engine::Load(planned));
  EXPECT_LE(Must(engine->planner().PlanBudget(budget)).Total(), budget);
  EXPECT_GE(engine->cache_tokens(), kUsualText + 4 * 128 + 16 * 64);
  const BeamTexts written = Must(RunBeams(*engine, prompt, scorer, options));
  EXPECT_EQ(written.best().tokens, expected.best().tokens);
  EXPECT_EQ(written.passes.waited + written.passes.preempted, 0);
  planned.streaming.memory_budget = least(one);
  EXPECT_EQ(Engine::Load(planned).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tessera
