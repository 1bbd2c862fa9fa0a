// The evaluation sets for measuring test-time scaling, read from a folder that the user gives, and the rules for judging a sample of each
// set.
//
//   ASSIGN_OR_RETURN(const Task task, ReadTask("evaluation_sets", "gsm8k"));
//   for (const Problem& problem : task.problems) Write(problem.prompt, task.stop);
//   const std::optional<std::string> answer = AnswerIn(task.kind, sample);                     // "18"; none: it has none
//   if (answer.has_value() && SameAnswer(*answer, task.problems[0].answer)) ...
//   ASSIGN_OR_RETURN(result, checker->Check(TrialOf(task.kind, problem, sample)));             // code has no answer, but tests
//
//   name       file               kind          prompt
//   gsm8k      gsm8k_test.jsonl   kNumber       the question, and to reason up to \boxed{} (Qwen2.5's; 0-shot, as in test-time scaling)
//   math500    math500.jsonl      kFormula      the same
//   humaneval  humaneval.jsonl    kCompletion   the beginning of a function (Chen et al. 2021)
//   mbpp       mbpp.jsonl         kProgram      the task and its tests, up to [BEGIN] (Austin et al. 2021; lm-eval, mbpp)
//
// The records have the fields of the sets' authors. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/sandbox/code_trial.h"

namespace tessera {

enum class TaskKind : uint8_t { kNumber, kFormula, kCompletion, kProgram };

struct Problem {
  std::string id = {};          // The record's id, or the line number.
  std::string prompt = {};      // The prompt for a model.
  std::string answer = {};      // The right answer; empty for code.
  std::string solution = {};    // The set's own solution, in the form of a right sample.
  std::string entry_point = {}; // For kCompletion, the tested function.
  std::string tests = {};       // For code, statements that fail if the code is wrong.
  std::string statement = {};   // The problem alone, without the prompt's instructions for the answer.
};

struct Task {
  std::string name = {};
  TaskKind kind = TaskKind::kNumber;
  std::vector<std::string> stop = {};   // Texts that end a sample.
  std::vector<Problem> problems = {};
};

// Returns gsm8k, math500, humaneval, mbpp, in this order.
const std::vector<std::string>& TaskNames();

// Reads the task `name`. WrongUsage (task) for an unknown name; also the errors of ForEachRecord.
absl::StatusOr<Task> ReadTask(const std::string& folder, const std::string& name);

// Reads the tasks that a list names, such as "gsm8k,mbpp"; "all" names all tasks. Returns the errors of ReadTask, but errors of files name
// the field `data`. WrongUsage (task) for a task named twice.
absl::StatusOr<std::vector<Task>> ReadListedTasks(const std::string& folder, const std::string& list);

inline bool IsCode(TaskKind kind) { return kind == TaskKind::kCompletion || kind == TaskKind::kProgram; }

// Returns a sample's answer, by extract_answer.h; for code, the code.
std::optional<std::string> AnswerIn(TaskKind kind, absl::string_view sample);

// Returns a trial of a sample with the problem's tests. The tests take from the sample the problem's function (kCompletion), or the
// functions and classes that the set's own solution defines (kProgram). REQUIRES: IsCode(kind).
CodeTrial TrialOf(TaskKind kind, const Problem& problem, absl::string_view sample);

}  // namespace tessera
