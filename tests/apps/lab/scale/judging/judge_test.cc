// Choices among recorded samples: what is read, how they are scored, and how often each way is right.
#include "tessera/apps/lab/scale/judging/judge.h"

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/judging/candidate_scores.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/judging/step_trees.h"
#include "tessera/base/random.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/vote.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kFew = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";

TEST(Judge, HeaderExample) {
  const std::vector<JudgedQuestion> questions = {
      {.answers = {0, 1, 1, 2}, .right = {false, true, true, false}, .scores = {1, 0, 0, 0}, .weights = {1, 0, 0, 0}}};
  const std::vector<MethodFigures> figures = JudgeSelections(questions, {.samples = {1, 2, 4}, .seed = 7});
  EXPECT_EQ(figures[0].method, "one sample");
  EXPECT_EQ(figures[0].samples, 1);
  EXPECT_EQ(figures[0].accuracy.mean, 0.5);
}

const MethodFigures& Find(const std::vector<MethodFigures>& all, const std::string& method, int samples) {
  for (const MethodFigures& figures : all) {
    if (figures.method == method && figures.samples == samples) return figures;
  }
  ADD_FAILURE() << method << " of " << samples;
  return all[0];
}

// By hand: of four samples, two of which give the right answer, in all 12 ordered pairs and 24 orders.
TEST(Judge, FiguresAverageOverAllOrders) {
  const std::vector<JudgedQuestion> questions = {
      {.answers = {0, 1, 1, 2}, .right = {false, true, true, false}, .scores = {0.9, 0.1, 0.5, 0.2}, .weights = {0.9, 0.1, 0.5, 0.2}}};
  const std::vector<MethodFigures> figures = JudgeSelections(questions, {.samples = {1, 2, 4}});
  EXPECT_DOUBLE_EQ(Find(figures, "majority", 2).accuracy.mean, 0.5) << "two votes: the first sample's";
  EXPECT_DOUBLE_EQ(Find(figures, "majority", 4).accuracy.mean, 1);
  EXPECT_DOUBLE_EQ(Find(figures, "weighted majority", 4).accuracy.mean, 0) << "0.6 against 0.9";
  EXPECT_DOUBLE_EQ(Find(figures, "best of N", 4).accuracy.mean, 0);
  EXPECT_DOUBLE_EQ(Find(figures, "best of N", 2).accuracy.mean, 2.0 / 6) << "of six pairs, {1, 2} and {2, 3}";
  EXPECT_DOUBLE_EQ(Find(figures, "any right", 2).accuracy.mean, 5.0 / 6);
  EXPECT_DOUBLE_EQ(Find(figures, "majority", 4).gain.mean, 0.5);
  EXPECT_FALSE(Find(figures, "best of N", 4).until_decided.has_value());
  // With votes of a, b, b, c: bb.. is decided after 2 samples, b.b. after 3, and the others after 4, since a tie goes to the first.
  EXPECT_DOUBLE_EQ(*Find(figures, "majority", 4).until_decided, (2 * 2 + 2 * 3 + 8 * 4) / 12.0);
}

TEST(Judge, OneSampleIsAsRightWhicheverOrdersAreDrawn) {
  SeededRandom random(4);
  std::vector<JudgedQuestion> questions(30);
  double right = 0;
  for (JudgedQuestion& question : questions) {
    for (int i = 0; i < 16; ++i) {
      const bool is_right = random.Below(3) == 0;
      question.answers.push_back(is_right ? 0 : 1 + static_cast<int>(random.Below(5)));
      question.right.push_back(is_right);
      question.scores.push_back(random.Uniform());
      question.weights.push_back(question.scores.back());
      right += is_right;
    }
  }
  const std::vector<MethodFigures> a = JudgeSelections(questions, {.samples = {1, 8, 16}, .draws = 50, .seed = 1});
  const std::vector<MethodFigures> b = JudgeSelections(questions, {.samples = {1, 8, 16}, .draws = 50, .seed = 1});
  EXPECT_DOUBLE_EQ(a[0].accuracy.mean, right / (30 * 16));
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].accuracy.mean, b[i].accuracy.mean) << a[i].method;
    EXPECT_EQ(a[i].accuracy.low, b[i].accuracy.low) << a[i].method;
    EXPECT_LE(a[i].accuracy.low, a[i].accuracy.mean + 1e-12);
    EXPECT_GE(a[i].accuracy.high, a[i].accuracy.mean - 1e-12);
    EXPECT_NEAR(a[i].accuracy.mean - a[0].accuracy.mean, a[i].gain.mean, 1e-12);
  }
  EXPECT_DOUBLE_EQ(Find(a, "any right", 16).accuracy.mean, 1);
  EXPECT_GE(Find(a, "any right", 8).accuracy.mean, Find(a, "majority", 8).accuracy.mean);
}

TEST(Judge, OrdersAreAllOrSeeded) {
  const std::vector<std::vector<int>> all = OrdersOf(4, 200, 0, 0);
  EXPECT_EQ(all.size(), 24u);
  EXPECT_EQ(std::set<std::vector<int>>(all.begin(), all.end()).size(), 24u);
  const std::vector<std::vector<int>> drawn = OrdersOf(40, 50, 3, 1);
  EXPECT_EQ(drawn.size(), 50u);
  EXPECT_EQ(drawn, OrdersOf(40, 50, 3, 1));
  EXPECT_NE(drawn, OrdersOf(40, 50, 3, 2));
  for (const std::vector<int>& order : drawn) EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 40u);
  EXPECT_EQ(OrdersOf(1, 5, 0, 0), (std::vector<std::vector<int>>{{0}}));
}

TEST(Estimates, AnyRightIsTheShareOfSubsetsWithARightOne) {
  for (int all = 1; all <= 6; ++all) {
    for (int right = 0; right <= all; ++right) {
      for (int drawn = 1; drawn <= all; ++drawn) {
        int subsets = 0, with = 0;
        for (int bits = 0; bits < 1 << all; ++bits) {
          if (__builtin_popcount(static_cast<unsigned>(bits)) != drawn) continue;
          ++subsets;
          with += (bits & ((1 << right) - 1)) != 0;
        }
        EXPECT_NEAR(AnyRight(all, right, drawn), static_cast<double>(with) / subsets, 1e-12);
      }
    }
  }
}

TEST(Estimates, AnIntervalHoldsTheMeanOfTheDistributionMostOfTheTime) {
  SeededRandom random(11);
  int held = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(60);
    for (double& value : values) value = random.Below(10) < 3 ? 1 : 0;
    const Estimate estimate = Bootstrap(values, {.resamples = 300, .seed = static_cast<uint64_t>(trial)});
    EXPECT_DOUBLE_EQ(estimate.mean, std::accumulate(values.begin(), values.end(), 0.0) / 60);
    held += estimate.low <= 0.3 && 0.3 <= estimate.high;
  }
  EXPECT_GE(held, 180);
  EXPECT_LE(held, 199);
  EXPECT_EQ(Bootstrap({1, 1, 1}, {}).low, 1);
}

TEST(Candidates, RecordedSolutionsAreJudgedAsTheirFileSays) {
  const Recorded recorded = Must(ReadGsm8kSolutions(kFew, Half::kAll));
  ASSERT_EQ(recorded.questions.size(), 3u);
  EXPECT_EQ(recorded.questions[0].candidates.size(), 4u);
  EXPECT_EQ(recorded.stated, 12);
  EXPECT_EQ(recorded.agreeing, 12);
  EXPECT_EQ(recorded.questions[0].candidates[3].answer, "18");
  EXPECT_TRUE(recorded.questions[0].candidates[3].right);
}

TEST(Candidates, EachQuestionIsOfOneHalf) {
  const size_t all = Must(ReadGsm8kSolutions(kFew, Half::kAll)).questions.size();
  size_t halves = 0;
  for (const Half half : {Half::kTrain, Half::kTest}) {
    const absl::StatusOr<Recorded> recorded = ReadGsm8kSolutions(kFew, half);
    halves += recorded.ok() ? recorded->questions.size() : 0;
  }
  EXPECT_EQ(halves, all);
  // FNV-1a: 0xcbf29ce484222325 of nothing, 0xaf63dc4c8601ec8c of "a".
  EXPECT_TRUE(IsIn(Half::kTest, ""));
  EXPECT_TRUE(IsIn(Half::kTrain, "a"));
  EXPECT_FALSE(IsIn(Half::kTest, "a"));
  EXPECT_EQ(FieldOf(HalfOfName("dev").status()), "split");
}

TEST(Candidates, AProblemIsInTheSameHalfForEverySource) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  const Task task = Must(ReadTask(kFew, "gsm8k"));
  std::ofstream samples(path);
  for (const Problem& problem : task.problems) samples << "{\"id\": \"" << problem.id << "\", \"text\": \"#### 1\"}\n";
  samples.close();
  for (const Half half : {Half::kTrain, Half::kTest}) {
    const auto ids = [](const absl::StatusOr<Recorded>& recorded) {
      std::vector<std::string> ids;
      for (const Question& question : recorded.ok() ? recorded->questions : std::vector<Question>()) ids.push_back(question.id);
      return ids;
    };
    EXPECT_EQ(ids(ReadGsm8kSolutions(kFew, half, &task)), ids(ReadCandidates(path, task, half)));
  }
  const Recorded all = Must(ReadGsm8kSolutions(kFew, Half::kAll, &task));
  ASSERT_EQ(all.questions.size(), task.problems.size()) << "those that the task has";
  EXPECT_EQ(all.questions[1].problem, &task.problems[1]);
}

TEST(Candidates, OwnSamplesAreGroupedByTheirProblem) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  const Task task = Must(ReadTask(kFew, "gsm8k"));
  std::ofstream(path) << "{\"id\": \"2\", \"text\": \"#### 70000\", \"mean_log_probability\": -0.5}\n"
                      << "{\"id\": 1, \"text\": \"#### 17\", \"mean_log_probability\": -0.25, \"finish\": \"length\"}\n"
                      << "{\"id\": \"1\", \"text\": \"no number\", \"mean_log_probability\": -2}\n";
  const Recorded recorded = Must(ReadCandidates(path, task, Half::kAll));
  ASSERT_EQ(recorded.questions.size(), 2u);
  EXPECT_EQ(recorded.questions[0].candidates[0].answer, "17");
  EXPECT_FALSE(recorded.questions[0].candidates[0].right);
  EXPECT_FALSE(recorded.questions[0].candidates[1].answer.has_value());
  EXPECT_TRUE(recorded.questions[1].candidates[0].right);
  EXPECT_EQ(Must(ScoresOf("mean_log_probability", recorded.questions[0], 0)), (std::vector<double>{-0.25, -2}));
  EXPECT_NEAR(Must(WeightsOf("mean_log_probability", {-0.25, -2}))[1], std::exp(-2.0), 1e-12);
  EXPECT_EQ(FieldOf(ScoresOf("reward", recorded.questions[0], 0).status()), "scorer");
  EXPECT_EQ(FieldOf(WeightsOf("reward", {-1}).status()), "scorer");

  for (const std::string wrong :
       {R"({"id": "9", "text": "a"})", R"({"text": "a"})", R"({"id": "1"})", R"({"id": true, "text": ""})"}) {
    std::ofstream(path) << "{\"id\": \"1\", \"text\": \"a\"}\n" << wrong << "\n";
    const absl::Status status = ReadCandidates(path, task, Half::kAll).status();
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(path, ", line 2: "))) << wrong << ": " << status;
  }
}

TEST(Candidates, ArithmeticScoresTheCorrectCalculations) {
  const auto score = [](const std::string& text, const std::string& answer) { return ArithmeticScore({.text = text, .answer = answer}); };
  EXPECT_EQ(score("16 - 3 = <<16-3=13>>13 and 2 * 13 = $<<2*13=26>>26\nA: 26", "26"), 1);
  EXPECT_EQ(score("16 - 3 = <<16-3=12>>12", "12"), 2.0 / 3) << "the difference is wrong";
  EXPECT_EQ(score("<<130000*.15=19500.0>>195,000", "195000"), 1.0 / 3) << "another number follows, and is answered";
  EXPECT_EQ(score("<<10/3=3.33>>3.33", "3.33"), 1) << "rounded as it is written";
  EXPECT_EQ(score("<<50%*80=40>>40 apples", "40"), 1);
  EXPECT_EQ(score("<<nonsense>>", "5"), 0);
  EXPECT_EQ(score("<<1/0=0>>0", "0"), 2.0 / 3);
  EXPECT_EQ(score("I say 5", "5"), 0) << "nothing was calculated";
  EXPECT_EQ(score("<<never closed", "5"), 0);
}

TEST(StepTrees, HeaderExample) {
  const std::vector<StepTree> trees = Must(ReadStepTrees(kFew));
  ASSERT_EQ(trees.size(), 1u);
  EXPECT_EQ(trees[0].answer, "\\frac{11}{36}");
  const std::vector<MethodFigures> figures = JudgeStepTrees(trees, {.samples = {4, 16}, .draws = 50, .seed = 7});
  EXPECT_EQ(figures[0].method, "one sample");
  EXPECT_GE(Find(figures, "beam search", 16).accuracy.mean, Find(figures, "one sample", 1).accuracy.mean);
  EXPECT_EQ(BeamShape(16), "4x4");
  EXPECT_EQ(BeamShape(2), "1x2");
}

// A problem whose only right path begins with the step of the largest value, and ends with another.
TEST(StepTrees, ABeamFindsAnswersThatOneWalkMisses) {
  const StepTree tree = {.question = "q",
                         .answer = "5",
                         .root = {"q", 0.5, {{"good", 0.9, {{"\\boxed{5}", 1, {}}, {"\\boxed{4}", 0.2, {}}}},
                                             {"bad", 0.1, {{"\\boxed{4}", 0, {}}}},
                                             {"worse", 0.05, {{"\\boxed{3}", 0, {}}}}}}};
  const std::vector<MethodFigures> figures = JudgeStepTrees({tree}, {.samples = {16}, .draws = 400, .seed = 1});
  EXPECT_NEAR(figures[0].accuracy.mean, 1.0 / 6, 0.08);
  EXPECT_GT(Find(figures, "beam search", 16).accuracy.mean, 0.99);
  EXPECT_LT(Find(figures, "majority", 16).accuracy.mean, 0.1) << "4 is more frequent";
}

TEST(StepTrees, BadFilesAreNamedByLineAndField) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"question": "q", "final_answer": "1", "reasoning_steps": {"text": "q", "mc_value": 1, "children": []}})",
       "line 1: reasoning_steps: found no steps, expected at least one"},
      {R"({"question": "q", "final_answer": "1", "reasoning_steps": {"text": "q", "mc_value": 2, "children": []}})",
       "line 1: reasoning_steps.mc_value: found 2, expected a share from 0 to 1"},
      {R"({"question": "q", "final_answer": "1", "reasoning_steps": {"text": "q", "mc_value": 1, "children": [{"text": "a"}]}})",
       "line 1: reasoning_steps.children[0].mc_value"},
      {R"({"question": "q", "final_answer": 1})", "line 1: final_answer"}};
  for (const auto& [text, error] : cases) {
    std::ofstream(folder.Path("math_step_trees.jsonl")) << text;
    const absl::Status status = ReadStepTrees(folder.path()).status();
    EXPECT_TRUE(absl::StrContains(status.message(), error)) << status << "\nexpected " << error;
  }
}

}  // namespace
}  // namespace tessera
