// The evaluation sets: what is read of them, how samples are judged, and what is refused.
#include "tessera/apps/lab/scale/tasks/tasks.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/value/same_answer.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kFew = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";

TEST(Tasks, HeaderExample) {
  const Task task = Must(ReadTask(kFew, "gsm8k"));
  ASSERT_EQ(task.problems.size(), 2u);
  const Problem& problem = task.problems[0];
  EXPECT_TRUE(absl::StrContains(problem.prompt, "16 eggs per day"));
  EXPECT_TRUE(absl::EndsWith(problem.prompt, "put your final answer within \\boxed{}."));
  EXPECT_TRUE(absl::StartsWith(problem.prompt, problem.statement + "\nPlease reason step by step"));
  const std::optional<std::string> answer = AnswerIn(task.kind, "16 - 3 - 4 is 9, and 9 * 2 is 18, so \\boxed{18}.");
  EXPECT_TRUE(answer.has_value() && SameAnswer(*answer, problem.answer));
}

TEST(Tasks, OwnAnswersAreRight) {
  for (const std::string name : {"gsm8k", "math500"}) {
    const Task task = Must(ReadTask(kFew, name));
    for (const Problem& problem : task.problems) {
      const std::optional<std::string> answer = AnswerIn(task.kind, problem.solution);
      EXPECT_TRUE(answer.has_value() && SameAnswer(*answer, problem.answer)) << problem.id << problem.answer;
      EXPECT_FALSE(SameAnswer("not it", problem.answer)) << problem.answer;
    }
  }
  EXPECT_EQ(Must(ReadTask(kFew, "math500")).problems[0].id, "test/precalculus/807.json");
}

Problem Completion() {
  return {.id = "HumanEval/0", .prompt = "import math\n\ndef area(r):\n    \"\"\"Of a circle.\"\"\"\n", .entry_point = "area",
          .tests = "def check(f):\n    assert f(0) == 0\n\ncheck(area)\n"};
}

TEST(Tasks, AFunctionGoesOnFromItsPromptOrIsGivenWhole) {
  const Problem problem = Completion();
  const CodeTrial on = TrialOf(TaskKind::kCompletion, problem, "    return math.pi * r * r\n\ndef more():\n    pass\n");
  EXPECT_EQ(on.program, absl::StrCat(problem.prompt, "    return math.pi * r * r\n", "\n"));
  const std::string whole = "def square(r):\n    return r * r\n\ndef area(r):\n    return 3\n";
  const CodeTrial given = TrialOf(TaskKind::kCompletion, problem, absl::StrCat("Sure:\n```python\n", whole, "```\n"));
  EXPECT_EQ(given.program, absl::StrCat("import math\n\n", "\n", whole));
  for (const CodeTrial& trial : {on, given}) {
    EXPECT_EQ(trial.before, "import math\n\n") << "the prompt's own, without the sample";
    EXPECT_EQ(trial.tests, problem.tests);
    EXPECT_EQ(trial.tested, (std::vector<std::string>{"area"}));
  }
}

TEST(Tasks, AProgramEndsAtItsDoneMarker) {
  const Problem problem = {.id = "3", .solution = "import re\nclass A:\n  def g(self):\n    pass\ndef f (x) :\n  pass\n",
                           .tests = "\nassert f() == 1\n"};
  const CodeTrial trial = TrialOf(TaskKind::kProgram, problem, "def f():\n  return 1\n[DONE]\nMore text.");
  EXPECT_EQ(trial.program, "def f():\n  return 1\n");
  EXPECT_EQ(trial.tests, problem.tests);
  EXPECT_EQ(trial.tested, (std::vector<std::string>{"A", "f"})) << "what the set's own solution defines";
  EXPECT_EQ(AnswerIn(TaskKind::kProgram, "```\nx\n```[DONE]"), "x\n");
}

TEST(Tasks, MbppShowsItsTestsAndHumanEvalCallsItsFunction) {
  const Task mbpp = Must(ReadTask(kFew, "mbpp")), humaneval = Must(ReadTask(kFew, "humaneval"));
  EXPECT_EQ(mbpp.problems[0].id, "1");
  EXPECT_TRUE(absl::StartsWith(mbpp.problems[0].prompt, "You are an expert Python programmer, and here is your task: Write a function"));
  EXPECT_TRUE(absl::EndsWith(mbpp.problems[0].prompt, "[BEGIN]\n"));
  EXPECT_TRUE(absl::StrContains(mbpp.problems[0].tests, "assert min_cost("));
  EXPECT_EQ(mbpp.stop, (std::vector<std::string>{"[DONE]"}));
  EXPECT_TRUE(absl::EndsWith(humaneval.problems[0].tests, "\ncheck(has_close_elements)\n"));
  EXPECT_EQ(humaneval.stop, (std::vector<std::string>{"\nclass", "\ndef", "\n#", "\nif", "\nprint"}));
}

TEST(Tasks, BadFilesAreNamedByLineAndField) {
  const TemporaryFolder folder;
  const std::string good = "{\"question\": \"q\", \"answer\": \"#### 1\"}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "gsm8k_test.jsonl: found no records, expected one JSON object per line"},
      {"\n \n", "found no records"},
      {good + "{", "line 2"},
      {good + "\n[1]\n", "line 3: found an array, expected an object"},
      {"{\"question\": \"q\"}", "line 1: answer: "},
      {"{\"question\": 5, \"answer\": \"#### 1\"}", "line 1: question: found 5"},
      {good + "{\"question\": \"q\", \"answer\": \"none\"}", "line 2: answer: found \"none\", expected a solution that ends with ####"},
      {"{\"question\": \"q\", \"answer\": \"#### none\"}", "line 1: answer: found"},
      {"{\"question\": \"\xff\", \"answer\": \"#### 1\"}", "line 1"}};
  for (const auto& [text, error] : cases) {
    std::ofstream(folder.Path("gsm8k_test.jsonl")) << text;
    const absl::Status status = ReadTask(folder.path(), "gsm8k").status();
    EXPECT_TRUE(absl::StrContains(status.message(), folder.Path("gsm8k_test.jsonl"))) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), error)) << status << "\nexpected " << error;
  }
}

TEST(Tasks, BadFieldsOfOtherSetsAreNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("math500.jsonl")) << R"({"problem": "p", "solution": "s", "answer": ""})";
  std::ofstream(folder.Path("humaneval.jsonl"))
      << R"({"task_id": "a", "prompt": "def f(x):", "canonical_solution": "", "entry_point": "g", "test": ""})";
  std::ofstream(folder.Path("mbpp.jsonl")) << R"({"task_id": 1, "text": "t", "code": "c", "test_list": []})";
  const auto message = [&](const char* name) { return std::string(ReadTask(folder.path(), name).status().message()); };
  EXPECT_TRUE(absl::StrContains(message("math500"), "line 1: answer: found an empty text, expected an answer")) << message("math500");
  EXPECT_TRUE(absl::StrContains(message("humaneval"), "line 1: entry_point: found \"g\"")) << message("humaneval");
  EXPECT_TRUE(absl::StrContains(message("mbpp"), "line 1: test_list: found no tests, expected at least one")) << message("mbpp");
  EXPECT_EQ(FieldOf(ReadTask(folder.path(), "arc").status()), "task");
  EXPECT_TRUE(absl::IsNotFound(ReadTask(folder.path(), "gsm8k").status()));
}

}  // namespace
}  // namespace tessera
