// tessera_scale check: judges the evaluation sets' own solutions like samples.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/sandbox/code_checker.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/scale/value/same_answer.h"

namespace tessera {
namespace {

struct Wrong {
  std::string id, why;
};

struct Checked {
  std::string task = {};
  int64_t problems = 0;
  std::vector<Wrong> wrong = {};
};

// Returns the reason why the set's own solution is wrong; empty: the solution is right.
absl::StatusOr<std::string> WhyWrong(const Task& task, const Problem& problem, const CodeChecker* checker) {
  if (IsCode(task.kind)) {
    ASSIGN_OR_RETURN(const CodeResult result, checker->Check(TrialOf(task.kind, problem, problem.solution)));
    return result.outcome == CodeOutcome::kPassed ? "" : result.message;
  }
  const std::optional<std::string> answer = AnswerIn(task.kind, problem.solution);
  if (answer.has_value() && SameAnswer(*answer, problem.answer)) return "";
  return absl::StrCat("found ", answer.has_value() ? Quoted(*answer) : "no answer", ", expected ", Quoted(problem.answer));
}

absl::StatusOr<Checked> Check(const Task& task, const CodeChecker* checker) {
  Checked checked = {.task = task.name, .problems = static_cast<int64_t>(task.problems.size())};
  Progress progress(task.name, checked.problems);
  int64_t done = 0;
  for (const Problem& problem : task.problems) {
    ASSIGN_OR_RETURN(std::string why, WhyWrong(task, problem, checker));
    if (!why.empty()) checked.wrong.push_back({problem.id, std::move(why)});
    progress.Update(++done);
  }
  return checked;
}

std::string TextOf(const std::vector<Checked>& all, const CodeChecker* checker) {
  std::string text;
  for (const Checked& one : all) {
    const int64_t right = one.problems - static_cast<int64_t>(one.wrong.size());
    absl::StrAppend(&text, one.task, ": ", right, " of ", one.problems, " own solutions are right\n");
    for (const Wrong& wrong : one.wrong) absl::StrAppend(&text, "  ", PrintableLine(wrong.id), ": ", wrong.why, "\n");
  }
  if (checker == nullptr) return text;
  absl::StrAppend(&text, "code: no processes, threads, sockets or changes to files; reading ",
                  checker->limits_reads() ? "only the interpreter's own files" : "whatever the user may read: this system has no Landlock",
                  "\n");
  return text;
}

std::string JsonOf(const std::vector<Checked>& all, const CodeChecker* checker) {
  JsonWriter json;
  json.BeginObject().Key("tasks").BeginArray();
  for (const Checked& one : all) {
    json.BeginObject().Key("task").String(one.task).Key("problems").Int(one.problems).Key("wrong").BeginArray();
    for (const Wrong& wrong : one.wrong) json.BeginObject().Key("id").String(wrong.id).Key("why").String(wrong.why).EndObject();
    json.EndArray().EndObject();
  }
  json.EndArray().Key("reading_limited");
  checker == nullptr ? json.Null() : json.Bool(checker->limits_reads());
  json.EndObject();
  return std::move(json).Take() + "\n";
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const std::vector<Task> tasks, ReadListedTasks(FLAGS_data, FLAGS_task));
  std::unique_ptr<CodeChecker> checker;
  std::vector<Checked> all;
  for (const Task& task : tasks) {
    if (IsCode(task.kind) && checker == nullptr) {
      ASSIGN_OR_RETURN(checker, CodeChecker::Create({}));
    }
    ASSIGN_OR_RETURN(Checked checked, Check(task, checker.get()));
    all.push_back(std::move(checked));
  }
  return WriteOutput(FLAGS_json ? JsonOf(all, checker.get()) : TextOf(all, checker.get()));
}

}  // namespace

Command ScaleCheck() {
  return {{.subcommand = "check",
           .summary = "Judges the own solutions of evaluation sets. That shows what the rules for samples miss. Answers of gsm8k and "
                      "math500 are extracted and compared; programs of humaneval and mbpp run each in a sandbox: it can change no file, "
                      "open no socket and start nothing, and has limits on time, memory and output. Their tests run in another "
                      "process, which decides. --task=all is all four.",
           .examples = {"tessera_scale check --task=all --data=FOLDER", "tessera_scale check --task=math500 --data=FOLDER --json"},
           .groups = {{"Set", {"task", "data"}}, {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
