// Files of evaluation runs: samples with which a run goes on, what a grid found and is about, times, answers to requests, and the public
// sets and recorded trees that tasks and prompts are read from. A file is refused in words that name it and can be shown; what is accepted
// is consistent, and what is added or written is read again.
//
// An input's first byte says which file it is.
#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/lab/lever/lever_prompts.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/grid_results.h"
#include "tessera/apps/lab/scale/grid/host_times.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/judging/step_trees.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/base/sha256.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

// kGsm8k to kMbpp are tasks, in the order of TaskNames().
enum Kind : char { kSamples, kResults, kAbout, kTimes, kAnswers, kTrees, kSolutions, kPrompts, kGsm8k, kMath, kHumanEval, kMbpp, kKinds };

const TemporaryFolder& TheFolder() {
  static const auto folder = std::make_unique<TemporaryFolder>(TemporaryFolder::InMemory());   // It goes when the program ends.
  return *folder;
}

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = TheFolder().Path(name);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

const Task& TheTask() {
  static const auto* const task = new Task{.name = "gsm8k", .problems = {{.id = "1", .answer = "18", .statement = "a"},
                                                                         {.id = "2", .answer = "3/4", .statement = "b"}}};
  return *task;
}

absl::Status UseCandidates(const std::string& path) {
  const auto recorded = ReadCandidates(path, TheTask(), Half::kAll);
  if (!recorded.ok()) return Refused(recorded.status(), path);
  CHECK(!recorded->questions.empty() && recorded->questions.size() <= TheTask().problems.size());
  for (const Question& question : recorded->questions) {
    CHECK(question.problem != nullptr && !question.candidates.empty() && question.id == question.problem->id);
    for (const JudgedSample& candidate : question.candidates) CHECK(!candidate.right || candidate.answer.has_value());
  }
  return absl::OkStatus();
}

// The run goes on with what is there, and adds a sample.
absl::Status UseSamples(const std::string& bytes) {
  const std::string path = Write("samples.jsonl", bytes);
  const absl::Status read = UseCandidates(path);
  int64_t had = 0;
  {
    auto file = SampleFile::Open(path, "those");
    if (!file.ok()) return Refused(file.status(), path);
    had = file->size();
    CHECK(!file->Has("new", 3));
    Must(file->Add({.id = "new", .sample = 3, .text = "\n\xff", .finish = "end of text"}));
  }
  const auto again = SampleFile::Open(path, "those");
  CHECK(again.ok() && again->size() == had + 1 && again->Has("new", 3)) << again.status();
  CHECK(absl::IsInvalidArgument(again->CheckText("new", 3, "another")));
  return read;
}

absl::Status UseResults(const std::string& bytes) {
  const std::string path = Write("results.jsonl", bytes);
  const auto results = ReadGridResults(path);
  if (!results.ok()) return Refused(results.status(), path);
  for (const GridResult& result : *results) {
    CHECK(result.samples >= 1 && result.samples <= kMostGridSamples && result.questions >= 1);
    CHECK(result.right.low >= 0 && result.right.low <= result.right.high && result.right.high <= 1);
  }
  const std::string copy = TheFolder().Path("copy.jsonl");
  Must(WriteGridResults(copy, *results));
  const auto again = ReadGridResults(copy);
  CHECK(again.ok() && again->size() == results->size()) << again.status();
  return absl::OkStatus();
}

absl::Status UseAbout(const std::string& bytes) {
  const std::string path = Write("grid.json", bytes);
  const auto about = ReadGridAbout(TheFolder().path());
  if (!about.ok()) return Refused(about.status(), path);
  CHECK(Sha256Sum::Parse(about->model_sha256).has_value() && about->parameters >= 0);
  std::set<std::string> tasks;
  for (const GridTask& task : about->tasks) CHECK(tasks.insert(task.task).second && task.questions <= task.problems) << task.task;
  CHECK(BeginGrid(TheFolder().path(), *about).ok());
  GridAbout other = *about;
  other.settings.emplace_back("a new setting", "on");
  Refused(BeginGrid(TheFolder().path(), other), path).IgnoreError();
  return absl::OkStatus();
}

absl::Status UseTimes(const std::string& bytes) {
  const std::string path = Write("times.jsonl", bytes);
  auto times = HostTimes::Read(path);
  if (!times.ok()) return Refused(times.status(), path);
  for (const HostTime& time : times->all()) {
    CHECK(time.least_seconds >= 0 && time.least_seconds <= time.most_seconds && time.seconds >= 0 && time.tokens >= 0);
    CHECK(times->Find(time.task, time.samples, time.scorer) != nullptr);
  }
  if (times->Find("new", 1, "") != nullptr) return absl::OkStatus();
  const size_t had = times->all().size();
  Must(times->Add({.task = "new", .questions = 1, .machine = "this"}));
  const auto again = HostTimes::Read(path);
  CHECK(again.ok() && again->all().size() == had + 1) << again.status();
  return absl::OkStatus();
}

absl::Status UseAnswers(const std::string& bytes) {
  const std::string path = Write("answers.jsonl", bytes);
  int64_t had = 0;
  {
    auto file = AnswerFile::Open(path);
    if (!file.ok()) return Refused(file.status(), path);
    had = (*file)->size();
    const Request request = Must(Request::Parse(R"({"id": "a new id"})", "line 1"));
    if (!Must((*file)->Wants(request, {}))) return absl::OkStatus();
    Must((*file)->Add(R"({"id":"a new id","prompt_tokens":[],"output_text":""})"));
  }
  const auto again = AnswerFile::Open(path);
  CHECK(again.ok() && (*again)->size() == had + 1 && (*again)->note().empty()) << again.status();
  return absl::OkStatus();
}

absl::Status UseTrees(const std::string& bytes) {
  const std::string path = Write("math_step_trees.jsonl", bytes);
  const auto trees = ReadStepTrees(TheFolder().path());
  if (!trees.ok()) return Refused(trees.status(), path);
  for (const StepTree& tree : *trees) CHECK(!tree.root.next.empty() && tree.root.value >= 0 && tree.root.value <= 1);
  for (const MethodFigures& figures : JudgeStepTrees(*trees, {.samples = {1, 4}, .draws = 2, .seed = 7})) {
    CHECK(figures.accuracy.mean >= 0 && figures.accuracy.mean <= 1) << figures.accuracy.mean;
  }
  return absl::OkStatus();
}

absl::Status UseSolutions(const std::string& bytes) {
  const std::string path = Write("gsm8k_model_solutions.jsonl", bytes);
  const auto recorded = ReadGsm8kSolutions(TheFolder().path(), Half::kAll);
  if (!recorded.ok()) return Refused(recorded.status(), path);
  CHECK(recorded->agreeing <= recorded->stated && recorded->stated == static_cast<int64_t>(4 * recorded->questions.size()));
  return absl::OkStatus();
}

// The same bytes as each set of prompts in turn, as far as they are read.
absl::Status UsePrompts(const std::string& bytes) {
  absl::Status status = absl::InvalidArgumentError("no set");
  for (const char* const name : {"gsm8k", "humaneval", "mbpp", "mt_bench"}) {
    const std::string file = std::string(name) == "gsm8k" ? "gsm8k_test" : name;
    const std::string path = Write(absl::StrCat(file, ".jsonl"), bytes);
    const auto sets = ReadLeverPrompts(TheFolder().path(), name, /*most=*/3);
    if (sets.ok()) CHECK(sets->size() == 1 && !(*sets)[0].prompts.empty() && (*sets)[0].prompts.size() <= 3);
    status = sets.ok() ? absl::OkStatus() : Refused(sets.status(), path);
  }
  for (const char* const file : {"spec_bench", "droidtask_ui", "persona_chat_reply", "humaneval", "gsm8k_test"}) {
    for (const char* const other : {"spec_bench", "droidtask_ui", "persona_chat_reply", "humaneval", "gsm8k_test"}) {
      Write(absl::StrCat(other, ".jsonl"), other == file ? bytes : "");
    }
    const auto all = ReadPromptSets(TheFolder().path(), /*most=*/3);
    if (!all.ok()) Refused(all.status(), TheFolder().path()).IgnoreError();
    if (all.ok()) status = absl::OkStatus();
  }
  return status;
}

absl::Status UseTask(int number, const std::string& bytes) {
  constexpr const char* kFiles[] = {"gsm8k_test.jsonl", "math500.jsonl", "humaneval.jsonl", "mbpp.jsonl"};
  const std::string path = Write(kFiles[number], bytes), name = TaskNames()[static_cast<size_t>(number)];
  const auto task = ReadTask(TheFolder().path(), name);
  if (!task.ok()) return Refused(task.status(), path);
  CHECK(task->name == name && !task->problems.empty());
  for (const Problem& problem : task->problems) {
    CHECK(!problem.id.empty() && (IsCode(task->kind) ? !problem.tests.empty() : !problem.answer.empty())) << problem.id;
    if (IsCode(task->kind)) {
      const CodeTrial trial = TrialOf(task->kind, problem, "```python\nx = 1");
      CHECK(!trial.program.empty() && trial.tests.find(problem.tests) != std::string::npos) << problem.id;
    }
    AnswerIn(task->kind, problem.solution);
  }
  CHECK(Sha256Sum::Parse(HashOfQuestions(*task, 2)).has_value());
  return absl::OkStatus();
}

std::vector<std::string> GoodFiles() {
  const std::string estimates = R"("right":{"mean":0.3,"low":0.2,"high":0.4},"gain":{"mean":0,"low":-0.1,"high":0.1})";
  const std::string hash = Sha256Of("a").Hex();
  const std::string solution = R"({"solution":"#### 18","is_correct":true})";
  return {
      R"({"id":"1","sample":0,"text":"#### 18","finish":"end of text","mean_log_probability":-0.3,"settings":"those"})" "\n"
      R"({"id":"2","sample":1,"text":"x","settings":"those"})" "\n",
      absl::StrCat(R"({"model":"a.gguf","task":"gsm8k","method":"majority","samples":8,"questions":40,)", estimates,
                   R"(,"prompt_tokens":90,"tokens":1040,"passes":170,"phone":{"device":"8gen3","shape":"s","prompt_seconds":0.1,)",
                   R"("decode_seconds":3.1,"joules":9.5}})", "\n"),
      absl::StrCat(R"({"format":1,"command":"run","model":{"name":"a.gguf","sha256":")", hash, R"(","parameters":5},)",
                   R"("settings":{"temperature":"0.8"},"tasks":[{"task":"gsm8k","questions":4,"problems":40,"sha256":")", hash, R"("}]})"),
      R"({"task":"gsm8k","samples":8,"beams":true,"scorer":"self_certainty","questions":4,"seconds":2,"least_seconds":1,)"
      R"("most_seconds":3,"tokens":50,"other_cpus":0.5,"machine":"this"})" "\n",
      R"({"id":"a","prompt_tokens":[1,2],"output_tokens":[3],"output_text":"b"})" "\n" R"({"id":7,"prompt_tokens":[],"answers":[]})" "\n"
      R"({"id":"c","error":"no"})" "\n" R"({"id":"d","promp)",
      R"({"question":"q","final_answer":"3","reasoning_steps":{"text":"q","mc_value":0.5,)"
      R"("children":[{"text":"\\boxed{3}","mc_value":1,"children":[]},)"
      R"({"text":"b","mc_value":0,"children":[{"text":"\\boxed{4}","mc_value":0,"children":[]}]}]}})" "\n",
      absl::StrCat(R"({"question":"a","ground_truth":"#### 18","6b_finetuning":)", solution, R"(,"6b_verification":)", solution,
                   R"(,"175b_finetuning":)", solution, R"(,"175b_verification":)", solution, "}\n"),
      R"json({"question":"a","prompt":"def f():","text":"t","test_list":["assert 1"],"turns":["x","y"],"category":"rag",)json"
      R"("question_id":3,)"
      R"("task":"open","task_id":"t1","steps":[{"history":"h","state":"s"}],"user2_persona":["p"],"conversation":["a","b","c"]})" "\n",
      R"({"question":"a","answer":"9+9\n#### 18"})" "\n", R"({"problem":"a","solution":"s","answer":"\\frac12","unique_id":"x"})" "\n",
      R"json({"task_id":"H/0","prompt":"def f(x):\n","canonical_solution":"  return x",)json"
      R"json("entry_point":"f","test":"def check(f): pass"})json" "\n",
      R"json({"task_id":11,"text":"t","code":"c","test_setup_code":"","test_list":["assert f(1)"]})json" "\n"};
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  const std::string text = bytes.Rest();
  constexpr absl::Status (*kUse[])(const std::string&) = {UseSamples, UseResults, UseAbout, UseTimes,
                                                          UseAnswers, UseTrees, UseSolutions, UsePrompts};
  return kind >= kGsm8k ? UseTask(kind - kGsm8k, text) : kUse[kind](text);
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const std::vector<std::string> files = GoodFiles();
  for (size_t kind = 0; kind < files.size(); ++kind) {
    const std::string& good = files[kind];
    const auto add = [&](const std::string& text) {
      seeds.push_back({absl::StrCat("file_", kind, "_", seeds.size()), std::string(1, static_cast<char>(kind)) + text});
    };
    add(good);
    add(good + good);
    add("");
    add("\n[]\n");
    for (size_t cut = 1; cut < good.size(); cut += 29) add(good.substr(0, cut));
    for (const char* found : {"\"1\"", "0.3", "8", "18", "\"gsm8k\"", "\"those\"", "[", "{", "0.5", "\"f\"", "true"}) {
      for (const char* other : {"0", "-1", "1e300", "null", "[]", "\"\\u0007\"", "9223372036854775807"}) {
        std::string spoiled = good;
        const size_t at = spoiled.find(found);
        if (at != spoiled.npos) add(spoiled.replace(at, std::string(found).size(), other));
      }
    }
  }
  return seeds;
}

}  // namespace tessera
