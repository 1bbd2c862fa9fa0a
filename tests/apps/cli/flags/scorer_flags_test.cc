#include "tessera/apps/cli/flags/scorer_flags.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/judge_scorer.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

class ScorerFlags : public testing::Test {
 protected:
  ScorerFlags() : head_(folder_.Path("reward.safetensors")), question_(folder_.Path("question.txt")) {
    RandomReward(64, 4, 1).WriteTo(head_);
    std::ofstream(question_) << "{problem} {answer} Right:";
  }

  const TemporaryFolder folder_;
  const std::string head_, question_;
  const std::unique_ptr<Engine> engine_ = TinyEngine({.seed = 2}, {.compute = {.threads = 1}});
};

TEST_F(ScorerFlags, HeaderExample) {
  const std::string flag = "reward:" + head_;
  const std::vector<TokenId> prompt = RandomTokens(9, 1), tokens = RandomTokens(4, 2);
  const std::string text = "four", problem = "2+2";
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckScorer(flag));
    EngineOptions options = {.compute = {.threads = 1}};
    RETURN_IF_ERROR(PlanScorer(flag, options));
    const std::unique_ptr<Engine> engine = TinyEngine({.seed = 2}, options);
    ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, MakeScorer(flag, *engine));
    ASSIGN_OR_RETURN(const double score, scorer->Score({.prompt = prompt, .tokens = tokens, .text = text, .problem = problem}));
    EXPECT_GT(score, 0);
    EXPECT_LT(score, 1);
    EXPECT_EQ(scorer->name(), "reward");
    return absl::OkStatus();
  };
  Must(run());
}

TEST_F(ScorerFlags, EachScorerIsNamedAsListed) {
  for (const std::string& name : {std::string("mean_log_probability"), std::string("self_certainty"), "reward:" + head_}) {
    const std::unique_ptr<Scorer> scorer = Must(MakeScorer(name, *engine_));
    EXPECT_EQ(scorer->name(), name.substr(0, name.find(':')));
  }
  const SampleText sample = {.text = "4", .mean_log_probability = -0.5, .self_certainty = 3, .problem = "2+2"};
  EXPECT_EQ(Must(Must(MakeScorer("mean_log_probability", *engine_))->Score(sample)), -0.5);
  EXPECT_EQ(Must(Must(MakeScorer("self_certainty", *engine_))->Score(sample)), 3);
}

TEST_F(ScorerFlags, AnUnlistedScorerIsRefused) {
  for (const char* name : {"", "reward", "reward:", "judge:", "prm", "Judge", "mean_log_probability:x", " judge"}) {
    const absl::Status status = ParseScorer(name).status();
    EXPECT_EQ(FieldOf(status), "scorer") << name;
    EXPECT_TRUE(absl::EndsWith(status.message(), "expected one of mean_log_probability, self_certainty, reward:FILE, judge or judge:FILE"));
  }
  EXPECT_EQ(Must(ParseScorer("reward:a:b")).file, "a:b");
  EXPECT_EQ(Must(ParseScorer("judge")).file, "");
}

TEST_F(ScorerFlags, FilesAreCheckedBeforeAnEngineIsMade) {
  Must(CheckScorer("reward:" + head_));
  Must(CheckScorer("judge:" + question_));
  for (const std::string& name : {std::string("reward:/nowhere"), std::string("judge:/nowhere"), "reward:" + folder_.path()}) {
    EXPECT_EQ(FieldOf(CheckScorer(name)), "scorer") << name;
  }
}

TEST_F(ScorerFlags, PlansCountATextMoreAndTheHead) {
  EngineOptions plain = {.compute = {.threads = 1}};
  Must(PlanScorer("self_certainty", plain));
  EXPECT_EQ(plain.workload.sessions, 1);
  EXPECT_EQ(plain.workload.logit_rows, 1);
  EngineOptions reward = {.compute = {.threads = 1}};
  reward.workload.sessions = 8;
  reward.workload.drafting_bytes = [](int, int) { return int64_t{1000}; };
  Must(PlanScorer("reward:" + head_, reward));
  EXPECT_EQ(reward.workload.sessions, 9);
  EXPECT_EQ(reward.workload.logit_rows, 2);
  EXPECT_GT(reward.workload.drafting_bytes(100, 100), 1000 + 4 * (4 * 64 + 4 + 4 + 1));
  EngineOptions judge = {.compute = {.threads = 1}};
  Must(PlanScorer("judge", judge));
  EXPECT_EQ(judge.workload.sessions, 2);
  judge.compute.switching = SwitchingOptions();
  EXPECT_EQ(FieldOf(PlanScorer("judge", judge)), "scorer");
  Must(PlanScorer("mean_log_probability", judge));
}

TEST_F(ScorerFlags, AHeadThatDoesNotFitIsWrongUsage) {
  RandomReward(32, 0, 1).WriteTo(head_);
  const absl::Status status = MakeScorer("reward:" + head_, *engine_).status();
  EXPECT_EQ(FieldOf(status), "scorer");
  EXPECT_TRUE(absl::EndsWith(status.message(), "tensor \"reward.out.weight\" shape: found [1, 32], expected [1, 64]")) << status;
}

TEST_F(ScorerFlags, AJudgesQuestionComesFromItsFile) {
  // The words of a raw question begin with a space in this vocabulary, so they are not told apart.
  EXPECT_TRUE(absl::StrContains(MakeScorer("judge:" + question_, *engine_, {.raw = true}).status().message(), "judge's words"));
  std::ofstream(question_) << "no places";
  const absl::Status status = MakeScorer("judge:" + question_, *engine_).status();
  EXPECT_EQ(FieldOf(status), "scorer");
  EXPECT_TRUE(absl::StrContains(status.message(), "found no {problem}")) << status;
}

TEST_F(ScorerFlags, PublicHeadsScoreAnOpenStepLikeAnEndedStep) {
  RandomValueHead(64, 1).WriteTo(head_);
  const std::unique_ptr<Scorer> lines = Must(MakeScorer("reward:" + head_, *engine_, {.steps = {.delimiter = "\n"}}));
  const std::vector<TokenId> prompt = RandomTokens(9, 1), open = {'a', 'b'}, closed = {'a', 'b', '\n'};
  EXPECT_EQ(Must(lines->Score({.prompt = prompt, .tokens = open})), Must(lines->Score({.prompt = prompt, .tokens = closed})));
  const std::unique_ptr<Scorer> whole = Must(MakeScorer("reward:" + head_, *engine_));
  EXPECT_NE(Must(whole->Score({.prompt = prompt, .tokens = open})), Must(whole->Score({.prompt = prompt, .tokens = closed})));
}

}  // namespace
}  // namespace tessera
