#include "tessera/apps/lab/scale/grid/grid_beams.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/judging/candidate_scores.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/judging/judge_recorded.h"
#include "tessera/apps/lab/scale/tasks/task_beams.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {
namespace {

constexpr int kExpansions = 4;

// Returns the place of the text that the search chooses. Every answer counts as a different answer, since only the scores are compared.
absl::StatusOr<size_t> ChosenOf(const Question& question) {
  ASSIGN_OR_RETURN(const std::vector<double> scores, ScoresOf("score", question, /*seed=*/0));
  std::vector<int> answers;
  for (const JudgedSample& candidate : question.candidates) {
    answers.push_back(candidate.answer.has_value() ? static_cast<int>(answers.size()) : kNoAnswer);
  }
  return static_cast<size_t>(Select(Selection::kBestOfN, answers, scores));
}

// Returns a figure of the search's cost. Sample 0, which comes first, has these figures.
absl::StatusOr<double> FigureOf(const Question& question, const std::string& name, const std::string& path) {
  constexpr double kMost = 1e9;
  const auto& figures = question.candidates[0].figures;
  const auto found = figures.find(name);
  if (found != figures.end() && found->second >= 0 && found->second <= kMost) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": question ", question.id, ", sample 0: ", name, ": found no number, expected one"));
}

}  // namespace

absl::Status CheckBeamRows(absl::Span<const int> counts) {
  for (const int count : counts) {
    if (count <= kExpansions || count % kExpansions == 0) continue;
    return WrongUsage("counts", count, absl::StrCat("multiples of ", kExpansions, " beyond it, which a beam search divides into beams"));
  }
  return absl::OkStatus();
}

BeamOptions BeamsOfRows(int rows) {
  return {.width = std::max(1, rows / kExpansions), .expansions = std::min(rows, kExpansions)};
}

BeamRunOptions GridBeams::RunOf(const Task& task, const TaskPrompts& prompts, int rows) const {
  BeamRunOptions options = run;
  const BeamOptions shape = BeamsOfRows(rows);
  options.beams.width = shape.width;
  options.beams.expansions = shape.expansions;
  options.stop = task.stop;
  options.starts_text = prompts.form != "raw";
  return options;
}

absl::StatusOr<TaskSamples> GridBeams::Write(Engine& engine, const Task& task, const TaskPrompts& prompts, int rows,
                                             const std::string& path) const {
  return WriteTaskBeams(engine, task, prompts, model, RunOf(task, prompts, rows), *scorer, spec, path);
}

absl::StatusOr<int64_t> GridBeams::WriteAlone(Engine& engine, const Task& task, const TaskPrompts& prompts, const SampleProblem& problem,
                                              int rows, bool warm_up) const {
  constexpr int kWarmUpTokens = 4;
  BeamRunOptions options = RunOf(task, prompts, rows);
  if (warm_up) options.max_tokens = kWarmUpTokens;
  const auto same = [&](const Problem& other) { return other.id == problem.id; };
  const auto found = std::find_if(task.problems.begin(), task.problems.end(), same);
  if (found != task.problems.end()) options.problem = found->statement;
  ASSIGN_OR_RETURN(const BeamTexts written, RunBeams(engine, problem.prompt, *scorer, options));
  return written.timings.output_tokens;
}

absl::StatusOr<BeamFigures> ReadBeams(const std::string& path, const Task& task) {
  ASSIGN_OR_RETURN(Recorded recorded, ReadCandidates(path, task, Half::kAll));
  if (recorded.questions.size() != task.problems.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": found searches of ", recorded.questions.size(), " problems, expected ",
                                                   task.problems.size()));
  }
  if (IsCode(task.kind)) RETURN_IF_ERROR(CheckCode(task, recorded));
  BeamFigures figures;
  for (const Question& question : recorded.questions) {
    ASSIGN_OR_RETURN(const size_t chosen, ChosenOf(question));
    figures.right.push_back(question.candidates[chosen].right ? 1 : 0);
    for (const auto& [name, sum] : {std::pair("search_tokens", &figures.tokens), std::pair("search_passes", &figures.passes),
                                    std::pair("search_rows", &figures.rows)}) {
      ASSIGN_OR_RETURN(const double figure, FigureOf(question, name, path));
      *sum += figure / static_cast<double>(recorded.questions.size());
    }
  }
  return figures;
}

}  // namespace tessera
