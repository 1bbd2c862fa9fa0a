// Sets of samples whose scores cannot be had, or whose samples cannot be written, and sets that go.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "tessera/runtime/scale/sample_set.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/runtime/scale/sample_sets.h"

namespace tessera {
namespace {

// Fails for one of the texts that it is given.
class FailingScorer : public Scorer {
 public:
  explicit FailingScorer(int fails_at) : fails_at_(fails_at) {}
  absl::string_view name() const override { return "failing"; }
  absl::StatusOr<double> Score(const SampleText& sample) override {
    if (calls_++ == fails_at_) return absl::DataLossError("score: found nothing");
    return static_cast<double>(sample.tokens.size());
  }

 private:
  int calls_ = 0;
  const int fails_at_;
};

// Finds no room so many times.
class CrowdedScorer : public Scorer {
 public:
  explicit CrowdedScorer(int times) : left_(times) {}
  absl::string_view name() const override { return "crowded"; }
  absl::StatusOr<double> Score(const SampleText& sample) override {
    if (left_-- > 0) return absl::ResourceExhaustedError("cache: found no room");
    return static_cast<double>(sample.tokens.size()) / kMost;
  }
  int left() const { return left_; }

 private:
  int left_;
};

// An answer of 60 tokens that no set has; `other` has it once it has ended.
void AddOther(ParallelAnswers& answers, std::optional<TimedAnswer>& other) {
  NewAnswer asked = {.prompt = RandomTokens(9, 9), .sampling = {.temperature = 0}, .max_tokens = 60};
  asked.on_end = [&other](const absl::StatusOr<TimedAnswer>& ended) { other = Must(ended); };
  answers.Add(std::move(asked));
}

// The others are gone by then, and another answer goes on.
TEST(SampleSet, AnErrorOfOneSampleNamesTheSampleAndEndsTheSet) {
  const auto engine = EngineFor(4);
  const auto answers = AnswersOf(*engine, 4);
  std::optional<TimedAnswer> other;
  AddOther(*answers, other);
  SampleSet set(*engine, Asked(4),
                {.samples = 6, .selection = Selection::kWeighted, .scorer = std::make_shared<FailingScorer>(1), .most_weight = kMost},
                *answers);
  const absl::Status status = set.Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::StartsWith(status.message(), "sample ")) << status;
  EXPECT_TRUE(absl::EndsWith(status.message(), ": score: found nothing")) << status;
  EXPECT_FALSE(set.done());
  EXPECT_LE(answers->unended(), 1) << "none of the set's";
  Must(answers->Run());
  EXPECT_EQ(other->text.tokens.size(), 60u);
}

// Another answer is written all the while, and has the room that the scorer wants.
TEST(SampleSet, AScorerThatFindsNoRoomIsAskedAgainWhileOthersAreWritten) {
  const auto engine = EngineFor(4);
  for (const Selection selection : {Selection::kBestOfN, Selection::kWeighted}) {
    const auto answers = AnswersOf(*engine, 4);
    answers->Add({.prompt = RandomTokens(9, 9), .sampling = {.temperature = 0}, .max_tokens = 80});
    const auto scorer = std::make_shared<CrowdedScorer>(3);
    SampleSet set(*engine, Asked(4), {.samples = 3, .selection = selection, .scorer = scorer, .most_weight = 1}, *answers);
    Must(set.Run());
    EXPECT_LT(scorer->left(), 0) << "it was asked until it had room";
    for (const SetSample& sample : set.result().samples) EXPECT_TRUE(sample.score.has_value() || !sample.whole());
    Must(answers->Run());
  }
}

TEST(SampleSet, WithNothingElseBeingWrittenNoRoomIsAnError) {
  const auto engine = EngineFor(2);
  const auto answers = AnswersOf(*engine, 2);
  SampleSet set(*engine, Asked(4), {.samples = 2, .scorer = std::make_shared<CrowdedScorer>(1000)}, *answers);
  const absl::Status status = set.Run();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message(), "sample 0: cache: found no room");
}

TEST(SampleSet, AMajorityGoesWithoutAScoreThatCannotBeHad) {
  const auto engine = EngineFor(3);
  const SampleSetOptions options = {.samples = 4, .selection = Selection::kMajority, .scorer = std::make_shared<FailingScorer>(1),
                                    .answer = AlwaysSeven, .stops_early = false};
  const SampleSetResult result = Written(*engine, 3, Asked(7), options);
  EXPECT_EQ(result.chosen, 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result.samples[i].score.has_value(), i != 1) << i;
}

TEST(SampleSet, ASetThatGoesCancelsItsSamplesAndNoOthers) {
  const auto engine = EngineFor(4);
  const auto answers = AnswersOf(*engine, 4);
  std::optional<TimedAnswer> other;
  AddOther(*answers, other);
  {
    SampleSet set(*engine, Asked(4), {.samples = 6, .selection = Selection::kMajority}, *answers);
    Must(answers->Step());
    EXPECT_GT(answers->unended(), 1);
  }
  Must(answers->Step());
  EXPECT_EQ(answers->unended(), 1) << "the other answer";
  Must(answers->Run());
  EXPECT_EQ(other->text.tokens.size(), 60u);
}

TEST(SampleSet, APromptThatDoesNotFitAndAWeightThatIsNoneAreErrors) {
  const auto engine = EngineFor(2);
  const auto error = [&](NewAnswer asked, const SampleSetOptions& options) {
    const auto answers = AnswersOf(*engine, 2);
    SampleSet set(*engine, asked, options, *answers);
    return std::string(set.Run().message());
  };
  NewAnswer longer = Asked(1);
  longer.prompt = RandomTokens(200, 1);
  const auto likely = std::make_shared<MeanLogProbabilityScorer>();
  EXPECT_TRUE(absl::StartsWith(error(longer, {.samples = 2, .scorer = likely}), "sample 0: prompt: found 200 tokens"));
  const std::string below = error(Asked(1), {.samples = 2, .selection = Selection::kWeighted, .scorer = likely});
  EXPECT_TRUE(absl::StartsWith(below, "sample 0: scorer: found a weight of -")) << below;
  const std::string above = error(Asked(1), {.samples = 2, .selection = Selection::kWeighted,
                                             .scorer = std::make_shared<FailingScorer>(9), .most_weight = 0.5});
  EXPECT_TRUE(absl::StrContains(above, ", expected 0 to 0.5, as votes have")) << above;
}

}  // namespace
}  // namespace tessera
