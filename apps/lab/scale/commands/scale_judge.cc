// tessera_scale judge: how often each method of choosing among recorded samples chooses a right sample.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/scorer_of_flag.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/judging/judge_recorded.h"
#include "tessera/apps/lab/scale/judging/judge_report.h"
#include "tessera/apps/lab/scale/judging/step_trees.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kMostSamples = 1024, kMostByDefault = 32;
constexpr char kStepTask[] = "math_steps";

// Returns the scorer of the samples.
std::string Scoring() { return ScorerOfFlag("arithmetic"); }

// Returns the numbers of --samples, or the powers of two up to 32 for which there are enough samples.
absl::StatusOr<std::vector<int>> SamplesOfFlag(int fewest) {
  if (FLAGS_samples != "default") return AscendingOfFlag("samples", FLAGS_samples, kMostSamples);
  std::vector<int> samples;
  for (int count = 1; count <= std::min(fewest, kMostByDefault); count *= 2) samples.push_back(count);
  return samples;
}

absl::StatusOr<JudgeOptions> OptionsFor(int fewest) {
  JudgeOptions options = {.draws = FLAGS_draws};
  ASSIGN_OR_RETURN(options.samples, SamplesOfFlag(fewest));
  ASSIGN_OR_RETURN(options.seed, SeedOfFlag());
  return options;
}

absl::Status CheckEnough(const Question& fewest, const std::vector<int>& samples) {
  const int there = static_cast<int>(fewest.candidates.size());
  if (samples.back() <= there) return absl::OkStatus();
  return WrongUsage("samples", samples.back(), absl::StrCat("at most ", there, ", the samples of question ", fewest.id));
}

absl::StatusOr<JudgeReport> JudgeRecorded(const Recorded& recorded, const Task* task) {
  const Question& fewest = WithFewestSamples(recorded);
  const int there = static_cast<int>(fewest.candidates.size());
  ASSIGN_OR_RETURN(const JudgeOptions options, OptionsFor(there));
  RETURN_IF_ERROR(CheckEnough(fewest, options.samples));
  ASSIGN_OR_RETURN(const std::vector<JudgedQuestion> questions, JudgedQuestions(recorded, task, Scoring(), options.seed));
  return JudgeReport{.task = FLAGS_task, .split = FLAGS_split, .questions = static_cast<int64_t>(questions.size()), .samples_each = there,
                     .scorer = Scoring(), .seed = options.seed, .draws = options.draws, .agreeing = recorded.agreeing,
                     .stated = recorded.stated, .figures = JudgeSelections(questions, options)};
}

absl::StatusOr<JudgeReport> JudgeGsm8kSolutions(Half half) {
  const absl::StatusOr<Recorded> recorded = ReadGsm8kSolutions(FLAGS_data, half);
  RETURN_IF_ERROR(ForFile("data", recorded.status()));
  return JudgeRecorded(*recorded, /*task=*/nullptr);
}

absl::StatusOr<JudgeReport> JudgeFile(Half half) {
  const absl::StatusOr<Task> task = ReadTask(FLAGS_data, FLAGS_task);
  RETURN_IF_ERROR(ForFile("data", task.status()));
  absl::StatusOr<Recorded> recorded = ReadCandidates(FLAGS_candidates, *task, half);
  RETURN_IF_ERROR(ForFile("candidates", recorded.status()));
  if (IsCode(task->kind)) RETURN_IF_ERROR(CheckCode(*task, *recorded));
  return JudgeRecorded(*recorded, &*task);
}

absl::StatusOr<JudgeReport> JudgeSteps() {
  if (!FLAGS_candidates.empty()) return WrongUsage("candidates", "beside --task=math_steps", "another task: steps are drawn from trees");
  if (IsGiven("scorer")) return WrongUsage("scorer", "beside --task=math_steps", "no scorer: steps have values of their own");
  if (FLAGS_split != "all") return WrongUsage("split", "beside --task=math_steps", "all: there are only a few trees");
  ASSIGN_OR_RETURN(const JudgeOptions options, OptionsFor(kMostByDefault));
  for (const int samples : options.samples) {
    if (samples < 4 || samples % 4 == 0) continue;
    return WrongUsage("samples", samples, "1, 2, 3 or a multiple of 4, which a beam search divides into beams");
  }
  const absl::StatusOr<std::vector<StepTree>> trees = ReadStepTrees(FLAGS_data);
  RETURN_IF_ERROR(ForFile("data", trees.status()));
  return JudgeReport{.task = kStepTask, .questions = static_cast<int64_t>(trees->size()), .scorer = "value", .seed = options.seed,
                     .draws = options.draws, .figures = JudgeStepTrees(*trees, options)};
}

absl::StatusOr<JudgeReport> JudgeTask() {
  RETURN_IF_ERROR(CheckFlagRange("draws", FLAGS_draws, 1, 1 << 20));
  ASSIGN_OR_RETURN(const Half half, HalfOfName(FLAGS_split));
  if (FLAGS_task == kStepTask) return JudgeSteps();
  if (!FLAGS_candidates.empty()) return JudgeFile(half);
  if (FLAGS_task == "gsm8k") return JudgeGsm8kSolutions(half);
  const std::vector<std::string>& names = TaskNames();
  if (std::find(names.begin(), names.end(), FLAGS_task) == names.end()) {
    return WrongUsage("task", Quoted(FLAGS_task), "one of gsm8k, math500, humaneval, mbpp, math_steps");
  }
  return WrongUsage("task", absl::StrCat(FLAGS_task, " without --candidates"), "gsm8k or math_steps, of which samples are recorded");
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const JudgeReport report, JudgeTask());
  return WriteOutput(FLAGS_json ? JudgeJson(report) : JudgeText(report));
}

}  // namespace

Command ScaleJudge() {
  return {{.subcommand = "judge",
           .summary =
               "Shows how often each way to choose among recorded samples is right. The ways are majority, weighted majority, best of N "
               "and any right, beside one sample, with 95 % intervals over questions. --task=gsm8k reads gsm8k_model_solutions.jsonl of "
               "--data, four samples of each question; math_steps reads math_step_trees.jsonl, and adds step-level beam search. "
               "--candidates judges samples of your own: lines {\"id\": ..., \"text\": ...} with figures that --scorer may be named "
               "after. Scorers: arithmetic (calculations that hold), brevity, random. Code runs with its tests in a sandbox, as check "
               "does it.",
           .examples = {"tessera_scale judge --data=FOLDER --task=gsm8k --json", "tessera_scale judge --data=FOLDER --task=math_steps",
                        "tessera_scale judge --task=mbpp --candidates=samples.jsonl --scorer=mean_log_probability"},
           .groups = {{"Samples", {"task", "data", "candidates", "split"}},
                      {"Choice", {"scorer", "samples", "draws", "seed"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
