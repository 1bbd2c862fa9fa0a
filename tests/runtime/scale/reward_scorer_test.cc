#include "tessera/runtime/scale/reward_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/layer_states.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/space_prefix_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::shared_ptr<const RewardHead> HeadFor(const Engine& engine, const RewardFile& file) {
  const TemporaryFolder folder;
  file.WriteTo(folder.Path("reward"));
  const LoadedModel& model = engine.model();
  return std::make_shared<const RewardHead>(
      Must(RewardHead::Open(folder.Path("reward"), model.file(), model.config(), model.layout(), model.weights())));
}

// Keeps what the last layer makes of each token, as a session tells it.
class States : public LayerListener {
 public:
  explicit States(int layer) : layers_({layer}) {}
  absl::Span<const int> layers() const override { return layers_; }
  void BeginPass(int) override { pass_.clear(); }
  void Take(int, int, absl::Span<const float> state) override { pass_.emplace_back(state.begin(), state.end()); }
  void EndPass(int, absl::Span<const TokenId>, absl::Span<const int> rows) override {
    for (const int row : rows) states.push_back(pass_[static_cast<size_t>(row)]);
  }
  std::vector<std::vector<float>> states;

 private:
  const std::vector<int> layers_;
  std::vector<std::vector<float>> pass_;
};

// By the plain way: the whole text alone in a session of an engine of its own.
double ScoreAt(const TinyModel& model, const RewardFile& file, const Tokens& tokens, size_t place) {
  const std::unique_ptr<Engine> engine = TinyEngine(model, {.compute = {.threads = 1}});
  const std::shared_ptr<const RewardHead> head = HeadFor(*engine, file);
  States states(head->layer());
  const std::unique_ptr<Session> session = Must(engine->NewSession());
  session->SetListener(&states);
  Must(session->Append(tokens));
  return head->Score(states.states[place].data());
}

class RewardScorerTest : public testing::Test {
 protected:
  std::unique_ptr<RewardScorer> ScorerWith(Engine& engine, const RewardScorerOptions& options = {}) const {
    return Must(RewardScorer::Create(engine, HeadFor(engine, file_), options));
  }
  double Expected(const Tokens& tokens) const { return ScoreAt(model_, file_, tokens, tokens.size() - 1); }

  TinyModel model_ = {.writes_letters = true, .seed = 3};
  RewardFile file_ = RandomReward(64, 16, 1);   // So many units that some are never 0.
  const std::unique_ptr<Engine> engine_ = TinyEngine(model_, {.compute = {.threads = 1}});
  const Tokens prompt_ = RandomTokens(30, 1);
};

TEST_F(RewardScorerTest, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("reward.safetensors");
  file_.WriteTo(path);
  const Tokens tokens = engine_->tokenizer().Encode("ab\n\ncd");
  const SampleText sample = {.prompt = prompt_, .tokens = tokens};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<RewardScorer> scorer, RewardScorer::Open(*engine_, path, {}));
    ASSIGN_OR_RETURN(const double score, scorer->Score({.prompt = prompt_, .tokens = tokens}));
    EXPECT_EQ(score, Expected(Joined(prompt_, tokens)));
    EXPECT_EQ(scorer->name(), "reward");
    const RewardScorer::Options by_steps = {.steps = {.delimiter = "\n\n", .aggregate = StepAggregate::kMin}};
    ASSIGN_OR_RETURN(const std::unique_ptr<RewardScorer> of_steps, RewardScorer::Open(*engine_, path, by_steps));
    ASSIGN_OR_RETURN(const std::vector<double> scores, of_steps->ScoreSteps(sample));
    EXPECT_EQ(scores.size(), 2u);
    return absl::OkStatus();
  };
  Must(run());
}

TEST_F(RewardScorerTest, BitsDependOnlyOnTheText) {
  std::vector<Tokens> samples;
  for (uint64_t seed = 1; seed <= 6; ++seed) samples.push_back(RandomTokens(static_cast<int>(3 * seed), seed));
  samples.push_back(Joined(samples[5], samples[1]));   // Goes on from another.
  samples.push_back(Tokens(samples[5].begin(), samples[5].begin() + 7));
  std::vector<double> expected;
  for (const Tokens& sample : samples) expected.push_back(Expected(Joined(prompt_, sample)));
  EXPECT_EQ(std::set<double>(expected.begin(), expected.end()).size(), samples.size()) << "texts that no score tells apart";
  for (const int row_capacity : {0, 5}) {
    for (const int threads : {1, 2}) {
      const std::unique_ptr<Engine> engine = TinyEngine(model_, {.compute = {.threads = threads, .row_capacity = row_capacity}});
      const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine);
      SeededRandom random(static_cast<uint64_t>(threads + row_capacity));
      for (int i = 0; i < 24; ++i) {
        const size_t which = random.Below(samples.size());
        EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = samples[which]})), expected[which]) << i << " " << which;
      }
    }
  }
}

TEST_F(RewardScorerTest, BitsAreTheSameWhereWindowsHaveLostThePrefix) {
  model_ = {.architecture = "gemma3", .layers = 6, .window = 8, .seed = 4};
  const Tokens a = RandomTokens(40, 7), b = RandomTokens(33, 8);
  const double of_a = Expected(Joined(prompt_, a)), of_b = Expected(Joined(prompt_, b));
  const std::unique_ptr<Engine> engine = TinyEngine(model_, {.compute = {.threads = 1, .row_capacity = 9}});
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine);   // Remembers nothing.
    EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = a})), of_a);
    EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = b})), of_b);
  }
}

TEST_F(RewardScorerTest, CachedTokensAreNotComputedAgain) {
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_);
  const Tokens sample = RandomTokens(10, 2), other = RandomTokens(12, 3);
  const auto rows_for = [&](const Tokens& tokens) {
    const int64_t before = scorer->rows();
    Must(scorer->Score({.prompt = prompt_, .tokens = tokens}).status());
    return scorer->rows() - before;
  };
  EXPECT_EQ(rows_for(sample), 40);
  EXPECT_EQ(rows_for(other), 12);
  EXPECT_EQ(rows_for(sample), 0) << "remembered";
  EXPECT_EQ(rows_for(Joined(sample, other)), 12);
}

TEST_F(RewardScorerTest, ATextThatTheEngineWroteTakesNoMoreThanItsLastToken) {
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_);
  Tokens written;
  {
    const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(*engine_, {}));
    stepper->Submit({.prompt = prompt_, .text = {.max_tokens = 15}, .on_end = [&](const auto& result) { written = Must(result).tokens; }});
    Must(stepper->Run());
  }
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = written})), Expected(Joined(prompt_, written)));
  EXPECT_LE(scorer->rows(), 2);
}

TEST_F(RewardScorerTest, EachStepIsScoredAtItsEnd) {
  const Tokens tokens = engine_->tokenizer().Encode("ab\ncd\n\nef");
  const Tokens all = Joined(prompt_, tokens);
  const std::vector<double> expected = {ScoreAt(model_, file_, all, 32), ScoreAt(model_, file_, all, 35), ScoreAt(model_, file_, all, 38)};
  const std::vector<std::pair<StepAggregate, double>> aggregates = {
      {StepAggregate::kLast, expected[2]},
      {StepAggregate::kMin, std::min({expected[0], expected[1], expected[2]})},
      {StepAggregate::kProduct, expected[0] * expected[1] * expected[2]}};
  for (const auto& [aggregate, score] : aggregates) {
    const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_, {.steps = {.delimiter = "\n", .aggregate = aggregate}});
    EXPECT_EQ(Must(scorer->ScoreSteps({.prompt = prompt_, .tokens = tokens})), expected);
    EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = tokens})), score);
  }
}

TEST_F(RewardScorerTest, OfABeamOnlyTheLastStepIsNew) {
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_, {.steps = {.delimiter = "\n", .aggregate = StepAggregate::kProduct}});
  Tokens beam;
  for (int step = 0; step < 4; ++step) {
    beam = Joined(beam, Joined(RandomTokens(6, static_cast<uint64_t>(step)), {'\n'}));
    const int64_t before = scorer->rows();
    const std::vector<double> scores = Must(scorer->ScoreSteps({.prompt = prompt_, .tokens = beam}));
    EXPECT_LE(scorer->rows() - before, step == 0 ? 37 : 7) << step;
    const std::unique_ptr<RewardScorer> anew = ScorerWith(*engine_, {.steps = {.delimiter = "\n", .aggregate = StepAggregate::kProduct}});
    EXPECT_EQ(Must(anew->ScoreSteps({.prompt = prompt_, .tokens = beam})), scores);
  }
}

TEST_F(RewardScorerTest, AnOpenLastStepIsClosedWhereThatIsWanted) {
  const RewardScorerOptions closes = {.steps = {.delimiter = "\n"}, .closes_last_step = true};
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_, closes);
  const Tokens open = engine_->tokenizer().Encode("ab\ncd"), closed = Joined(open, {'\n'});
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = open})), Expected(Joined(prompt_, closed)));
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = closed})), Expected(Joined(prompt_, closed)));
  EXPECT_EQ(Must(ScorerWith(*engine_)->Score({.prompt = prompt_, .tokens = open})), Expected(Joined(prompt_, open)));
}

TEST_F(RewardScorerTest, AClosingDelimiterHasNoSpacePrefix) {
  const TemporaryFolder folder;
  SpacePrefixModelBuilder().WriteTo(folder.Path("spaced.gguf"));
  const auto spaced = Must(Engine::Load({.model_path = folder.Path("spaced.gguf"), .compute = {.threads = 1}}));
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*spaced, {.steps = {.delimiter = "a"}, .closes_last_step = true});
  const Tokens open = {SpacePrefixId("b")}, closed = Joined(open, {SpacePrefixId("a")});
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = open})), Must(scorer->Score({.prompt = prompt_, .tokens = closed})));
}

TEST_F(RewardScorerTest, ALayerBelowTheLastIsRead) {
  file_.texts.push_back({"layer", "1"});
  const Tokens tokens = RandomTokens(5, 6);
  const double first = Must(ScorerWith(*engine_)->Score({.prompt = prompt_, .tokens = tokens}));
  EXPECT_EQ(first, Expected(Joined(prompt_, tokens)));
  file_.texts.pop_back();
  EXPECT_NE(first, Expected(Joined(prompt_, tokens)));
}

TEST_F(RewardScorerTest, EndTokensAreNoPartOfTheText) {
  const Tokens tokens = RandomTokens(5, 6);
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_);
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = Joined(tokens, {kImEnd})})), Expected(Joined(prompt_, tokens)));
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = Tokens{kImEnd}})), Expected(prompt_)) << "the prompt's end";
}

TEST_F(RewardScorerTest, WhereOtherTextsFillTheCacheThereIsAnErrorAndLaterNone) {
  const std::unique_ptr<Engine> engine = TinyEngine(model_, {.compute = {.threads = 1}, .cache = {.context = 64}});
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine);
  std::unique_ptr<Session> session = Must(engine->NewSession());
  const int room = engine->cache_tokens();
  Must(session->Append(RandomTokens(std::min(room, 64), 4)));
  std::vector<std::unique_ptr<Session>> others;
  for (int held = 64; held + 64 <= room; held += 64) {
    others.push_back(Must(engine->NewSession()));
    Must(others.back()->Append(RandomTokens(64, static_cast<uint64_t>(held))));
  }
  const Tokens tokens = RandomTokens(5, 6);
  EXPECT_TRUE(absl::IsResourceExhausted(scorer->Score({.prompt = prompt_, .tokens = tokens}).status()));
  others.clear();
  session = nullptr;
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = tokens})), Expected(Joined(prompt_, tokens)));
}

TEST_F(RewardScorerTest, ATextThatFilledTheContextIsScoredWithoutTheTokenThatHasNoPlace) {
  const Tokens most = RandomTokens(engine_->context() + 1 - static_cast<int>(prompt_.size()), 1);
  const Tokens in_place(most.begin(), most.end() - 1);
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_);
  EXPECT_EQ(Must(scorer->Score({.prompt = prompt_, .tokens = most})), Expected(Joined(prompt_, in_place)));
  const std::unique_ptr<RewardScorer> closing = ScorerWith(*engine_, {.steps = {.delimiter = "\n"}, .closes_last_step = true});
  EXPECT_EQ(Must(closing->Score({.prompt = prompt_, .tokens = most})), Expected(Joined(prompt_, in_place))) << "no place to close it";
}

TEST_F(RewardScorerTest, UnscorableTextsAndOptionsAreNamed) {
  const std::unique_ptr<RewardScorer> scorer = ScorerWith(*engine_);
  const auto message = [&](const SampleText& sample) { return std::string(scorer->Score(sample).status().message()); };
  EXPECT_EQ(message({}), "text to be scored: found no tokens, expected at least one");
  const Tokens wrong = {1, 2, 5000};
  EXPECT_EQ(message({.prompt = prompt_, .tokens = wrong}), "token 32: found 5000, expected 0 to 264");
  const Tokens longest = RandomTokens(engine_->context(), 1);
  EXPECT_EQ(message({.prompt = prompt_, .tokens = longest}), "text to be scored: found 158 tokens, expected at most 128, the context");
  const std::shared_ptr<const RewardHead> head = HeadFor(*engine_, file_);
  const auto refused = [&](const RewardScorerOptions& options) { return FieldOf(RewardScorer::Create(*engine_, head, options).status()); };
  EXPECT_EQ(refused({.steps = {.aggregate = StepAggregate::kMin}}), "steps");
  EXPECT_EQ(refused({.closes_last_step = true}), "steps");
  EXPECT_EQ(refused({}), "");
  const std::unique_ptr<Engine> deeper = TinyEngine({.layers = 3}, {.compute = {.threads = 1}});
  EXPECT_EQ(RewardScorer::Create(*deeper, head, {}).status().message(), "layers of a reward head: found 2, expected 3");
  EXPECT_EQ(FieldOf(StepAggregateOfName("mean").status()), "steps");
}

TEST(Aggregate, AScoreThatIsNoNumberStays) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Aggregate(StepAggregate::kMin, {0.5, nan, 0.1})));
  EXPECT_TRUE(std::isnan(Aggregate(StepAggregate::kMin, {nan, 0.1})));
  EXPECT_TRUE(std::isnan(Aggregate(StepAggregate::kProduct, {0.5, nan})));
  EXPECT_EQ(Aggregate(StepAggregate::kMin, {0.5, 0.1, 0.3}), 0.1);
}

}  // namespace
}  // namespace tessera
