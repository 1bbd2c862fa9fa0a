// N samples of one prompt: each is what it is alone, and the chosen one is the same however many are written at once and when they stop.
#include "tessera/runtime/scale/sample_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/runtime/scale/sample_sets.h"

namespace tessera {
namespace {

TEST(SampleSet, HeaderExample) {
  const auto AnswerOf = [](absl::string_view text) -> std::optional<std::string> { return std::string(text.substr(0, 1)); };
  const auto SameText = [](absl::string_view a, absl::string_view b) { return a == b; };
  const std::vector<TokenId> tokens = RandomTokens(20, 1);
  EngineOptions engine_options = {.compute = {.threads = 1}, .cache = {.context = 256}};
  std::string text;
  const auto run = [&]() -> absl::Status {
    SampleSetOptions options = {.samples = 8, .selection = Selection::kMajority, .answer = AnswerOf, .same = SameText};
    ParallelOptions parallel = {.texts = 8};
    RETURN_IF_ERROR(PlanParallel(parallel, engine_options));
    PlanSampleSet(options.samples, /*max_tokens=*/128, engine_options);
    const auto engine = TinyEngine({.writes_letters = true}, engine_options);
    ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswers::Create(*engine, parallel));
    SampleSet set(*engine, {.prompt = tokens, .sampling = {.temperature = 1}, .max_tokens = 128}, options, *answers);
    RETURN_IF_ERROR(set.Run());
    text = set.result().best().written.text.text;
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_FALSE(text.empty());
}

TEST(SampleSet, EachSampleEqualsTheSampleAlone) {
  constexpr int kSamples = 7;
  const auto engine = EngineFor(kSamples);
  const NewAnswer asked = Asked(3);
  std::vector<std::vector<TokenId>> alone;
  std::vector<double> likely, certain;
  {
    const auto session = Must(engine->NewSession());
    const Sampler sampler = Must(Sampler::Create(asked.sampling));
    for (uint64_t sample = 0; sample < kSamples; ++sample) {
      session->Truncate(0);
      Must(session->Append(asked.prompt));
      TextConfidence confidence;
      const Generation text = Must(Generate(*session, sampler, {.max_tokens = kMost, .stop = asked.stop, .stream = sample,
                                                                .starts_text = true, .on_token = confidence.Listener()}));
      alone.push_back(text.tokens);
      likely.push_back(confidence.mean_log_probability());
      certain.push_back(confidence.self_certainty());
    }
  }
  for (const int together : {1, 3, kSamples}) {
    for (const std::string speculate : {"none", "auto"}) {
      const auto answers = AnswersOf(*engine, together, speculate);
      SampleSet set(*engine, asked, {.samples = kSamples, .scorer = std::make_shared<MeanLogProbabilityScorer>()}, *answers);
      Must(set.Run());
      for (size_t i = 0; i < kSamples; ++i) {
        const SetSample& sample = set.result().samples[i];
        EXPECT_EQ(sample.written.text.tokens, alone[i]) << i << " of " << together << ", " << speculate;
        EXPECT_EQ(sample.mean_log_probability, likely[i]) << "to the bit";
        EXPECT_EQ(sample.self_certainty, certain[i]);
        EXPECT_EQ(*sample.score, likely[i]);
      }
      EXPECT_EQ(set.result().chosen, std::max_element(likely.begin(), likely.end()) - likely.begin());
      EXPECT_EQ(set.result().whole_when_decided, kSamples);
      EXPECT_EQ(set.result().most_tokens_left_out, 0);
    }
  }
}

// What early stop saved, over many sets.
struct Saved {
  int sets = 0, tokens = 0;
  int went_on = 0;   // Sets of which a sample was still to be awaited when the vote was decided.
};

// The same set with and without early stop.
void ExpectSameChoice(Engine& engine, int together, const NewAnswer& asked, SampleSetOptions options, Saved& saved) {
  options.stops_early = false;
  const SampleSetResult all = Written(engine, together, asked, options);
  options.stops_early = true;
  const SampleSetResult early = Written(engine, together, asked, options);
  EXPECT_EQ(early.chosen, all.chosen);
  EXPECT_EQ(early.best().written.text.tokens, all.best().written.text.tokens);
  EXPECT_TRUE(early.best().whole());
  EXPECT_LE(early.tokens, all.tokens);
  EXPECT_GE(early.tokens + early.most_tokens_left_out, all.tokens) << "no more could have come";
  int whole = 0;
  for (size_t i = 0; i < early.samples.size(); ++i) {
    EXPECT_TRUE(all.samples[i].whole());
    whole += early.samples[i].whole();
    if (!early.samples[i].whole()) continue;
    EXPECT_EQ(early.samples[i].written.text.tokens, all.samples[i].written.text.tokens) << "of " << i;
    EXPECT_EQ(early.samples[i].score, all.samples[i].score);
  }
  EXPECT_LE(early.whole_when_decided, whole);
  EXPECT_EQ(all.whole_when_decided, options.samples);
  saved.sets += whole < options.samples;
  saved.went_on += whole > early.whole_when_decided;
  saved.tokens += static_cast<int>(all.tokens - early.tokens);
}

TEST(SampleSet, TheChoiceIsTheSameWithAndWithoutEarlyStop) {
  const auto engine = EngineFor(8);
  for (const Selection selection : {Selection::kMajority, Selection::kWeighted}) {
    Saved saved;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(absl::StrCat(SelectionName(selection), ", seed ", seed));
      SampleSetOptions options = {.samples = 5 + static_cast<int>(seed % 4), .selection = selection,
                                  .answer = RandomAnswers(seed, /*answers=*/1 + static_cast<int>(seed % 3))};
      if (selection == Selection::kWeighted) {
        options.scorer = std::make_shared<MeanLogProbabilityScorer>();
        options.weight = [](double score) { return 0.5 + 0.5 * WeightOfLogProbability(score); };   // Not so far from the most.
        options.most_weight = 1;
      }
      for (const int together : {2, 8}) ExpectSameChoice(*engine, together, Asked(seed), options, saved);
    }
    EXPECT_GT(saved.sets, 3) << "or nothing was tested";
    EXPECT_GT(saved.went_on, 0);
    EXPECT_GT(saved.tokens, 0);
  }
}

TEST(SampleSet, NothingThatIsChosenDependsOnHowManyAreWrittenAtOnce) {
  const auto engine = EngineFor(8);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const SampleSetOptions options = {.samples = 8, .selection = Selection::kMajority, .answer = RandomAnswers(seed, 2)};
    const SampleSetResult one = Written(*engine, 1, Asked(seed), options);
    for (const int together : {3, 8}) {
      const SampleSetResult other = Written(*engine, together, Asked(seed), options);
      EXPECT_EQ(other.chosen, one.chosen) << seed;
      EXPECT_EQ(other.best().written.text.text, one.best().written.text.text);
    }
  }
}

// Three of three agree: of five no two others can win. Samples that had not begun have no tokens.
TEST(SampleSet, ADecidedVoteBeginsNoMoreSamples) {
  const auto engine = EngineFor(1);
  const SampleSetOptions options = {.samples = 5, .selection = Selection::kMajority, .answer = AlwaysSeven};
  const SampleSetResult result = Written(*engine, /*together=*/1, Asked(1), options);
  EXPECT_EQ(result.whole_when_decided, 3);
  EXPECT_EQ(result.chosen, 0);
  int64_t tokens = 0;
  for (size_t i = 0; i < 3; ++i) tokens += static_cast<int64_t>(result.samples[i].written.text.tokens.size());
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_EQ(result.most_tokens_left_out, 2 * kMost);
  for (const size_t i : {3, 4}) {
    EXPECT_FALSE(result.samples[i].whole());
    EXPECT_TRUE(result.samples[i].written.text.tokens.empty());
  }
}

TEST(SampleSet, WithoutALimitOnWeightsNoVoteIsDecidedEarly) {
  const auto engine = EngineFor(4);
  const SampleSetResult result = Written(*engine, 4, Asked(2),
                                         {.samples = 4, .selection = Selection::kWeighted,
                                          .scorer = std::make_shared<SelfCertaintyScorer>(),
                                          .answer = AlwaysSeven});
  EXPECT_EQ(result.whole_when_decided, 4);
  for (const SetSample& sample : result.samples) EXPECT_TRUE(sample.whole());
}

// A list schedule: a sample that ends in a pass has no row in the next, and another has. The prompt is computed once, and each later sample
// has one row for its last token, from the second pass on.
TEST(SampleSet, AnEndedSampleGivesItsRowsToTheNextAtOnce) {
  constexpr int kSamples = 9, kTogether = 3;
  const auto engine = EngineFor(kTogether);
  const auto answers = AnswersOf(*engine, kTogether);
  SampleSet set(*engine, Asked(5), {.samples = kSamples, .scorer = std::make_shared<MeanLogProbabilityScorer>()}, *answers);
  Must(set.Run());
  int64_t rows = kPrompt + kSamples - 1;
  std::vector<int64_t> free_from = {1, 2, 2};   // The first pass that a slot may be in.
  std::vector<int64_t> lengths;
  for (const SetSample& sample : set.result().samples) {
    const int64_t tokens = static_cast<int64_t>(sample.written.text.tokens.size());
    lengths.push_back(tokens);
    rows += tokens - 1;                         // The last token needs no row.
    *std::min_element(free_from.begin(), free_from.end()) += tokens;
  }
  EXPECT_NE(*std::min_element(lengths.begin(), lengths.end()), *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_EQ(answers->report().rows, rows);
  EXPECT_EQ(answers->report().passes, *std::max_element(free_from.begin(), free_from.end()) - 1);
  EXPECT_EQ(answers->report().shared_tokens, (kSamples - 1) * (kPrompt - 1));
  EXPECT_EQ(answers->report().most_texts, kTogether);
}

TEST(SampleSet, ACancelledEngineEndsTheSetWithoutAResult) {
  std::atomic<bool> cancel = false;
  const auto engine = EngineFor(2, {.cancel = &cancel});
  const auto answers = AnswersOf(*engine, 2);
  SampleSet set(*engine, Asked(6),
                {.samples = 6, .selection = Selection::kMajority,
                 .answer = [&](absl::string_view) { cancel = true; return std::optional<std::string>(); }},
                *answers);
  EXPECT_TRUE(absl::IsCancelled(set.Run()));
  EXPECT_FALSE(set.done());
}

TEST(SampleSet, ScoresThatAreNotNeededAreReportedAllTheSame) {
  const auto engine = EngineFor(3);
  const SampleSetResult result = Written(*engine, 3, Asked(7),
                                         {.samples = 3, .selection = Selection::kMajority,
                                          .scorer = std::make_shared<SelfCertaintyScorer>(), .stops_early = false});
  EXPECT_EQ(result.scorer, "self_certainty");
  for (const SetSample& sample : result.samples) EXPECT_EQ(sample.score, sample.self_certainty);
}

TEST(SampleSet, OptionsThatCannotChooseAreRefused) {
  EXPECT_EQ(FieldOf(CheckSampleSet({.samples = 0, .selection = Selection::kMajority})), "samples");
  EXPECT_EQ(CheckSampleSet({}).message(), "scorer: found none for best of N, expected one: it goes by scores");
  EXPECT_EQ(FieldOf(CheckSampleSet({.selection = Selection::kWeighted})), "scorer");
  EXPECT_TRUE(CheckSampleSet({.selection = Selection::kMajority}).ok());
}

// A usual text for the first, and 100 tokens for each other one; never more than as many as are written at once.
TEST(SampleSet, APlanCountsTheSharedPrefixOnce) {
  const auto share = [](int texts, int samples, int max_tokens) {
    EngineOptions options = {.cache = {.context = 4096}};
    Must(PlanParallel({.texts = texts, .speculation = {.speculate = "none"}}, options));
    PlanSampleSet(samples, max_tokens, options);
    return options.cache.text_share;
  };
  EXPECT_EQ(share(8, 8, 100), (kUsualText + 7 * 100 + 7) / 8);
  EXPECT_EQ(share(8, 64, 100), share(8, 8, 100));
  EXPECT_EQ(share(8, 1, 100), kUsualText / 8);
  EXPECT_EQ(share(8, 8, 0), kUsualText) << "as answers that have nothing in common";
  EXPECT_EQ(share(8, 8, 100'000), kUsualText);
  EngineOptions options = {.compute = {.threads = 1}, .cache = {.context = 1024}};
  Must(PlanParallel({.texts = 8, .speculation = {.speculate = "none"}}, options));
  PlanSampleSet(8, 100, options);
  EXPECT_EQ(TinyEngine({.writes_letters = true}, options)->cache_tokens(), (kUsualText + 7 * 100 + 7) / 8 * 8);
}

TEST(SampleSet, IsWrittenAsJson) {
  SampleSetResult result = {.selection = Selection::kMajority, .chosen = 1, .whole_when_decided = 2, .tokens = 5};
  result.most_tokens_left_out = 9;
  result.samples.resize(3);
  result.samples[1].written.text = {.tokens = {1, 2}, .text = "a", .reason = FinishReason::kEndToken};
  result.samples[1].score = 0.5;
  result.samples[1].answer = "4";
  result.samples[2].written.text.reason = FinishReason::kCancelled;
  JsonWriter json;
  WriteSampleSet(json, result);
  const JsonValue read = Must(JsonValue::Parse(json.text()));
  EXPECT_EQ(*read.Int("chosen"), 1);
  EXPECT_EQ(*read.String("selection"), "majority");
  EXPECT_TRUE(read.Value("scorer")->is_null());
  EXPECT_EQ(*read.Int("whole_when_decided"), 2);
  EXPECT_EQ(*read.Int("most_tokens_left_out"), 9);
  const JsonValue samples = *read.Array("samples");
  ASSERT_EQ(samples.size(), 3);
  EXPECT_EQ(*samples[1].String("answer"), "4");
  EXPECT_EQ(*samples[1].Double("score"), 0.5);
  EXPECT_EQ(*samples[1].Int("tokens"), 2);
  EXPECT_EQ(*samples[2].String("finish"), "cancelled");
  EXPECT_TRUE(samples[2].Value("score")->is_null());
}

}  // namespace
}  // namespace tessera
