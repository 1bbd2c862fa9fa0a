#include "tessera/apps/lab/scale/tasks/task_beams.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/lab/scale/grid/run_settings.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/apps/show/beam_report.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

std::string SettingsOf(const Task& task, const Engine& engine, const std::string& model, const BeamRunOptions& options,
                       const std::string& scorer, const std::string& form) {
  const SampleOptions samples = {.sampling = options.sampling, .max_tokens = options.max_tokens};
  return absl::StrCat(SampleSettings(task, engine, model, samples, form), ", beams ", BeamShapeText(options.beams), ", at most ",
                      options.beams.most_steps, " steps of at most ", options.max_step_tokens, " tokens up to \"",
                      absl::CEscape(options.beams.delimiter), "\", scorer ", scorer);
}

void WriteText(const BeamText& text, JsonWriter& json) {
  json.Key("text").String(text.text).Key("finish").String(FinishReasonName(text.reason));
  json.Key("tokens").Int(static_cast<int64_t>(text.tokens.size())).Key("steps").Int(static_cast<int64_t>(text.path.size()));
  json.Key("score").Double(text.score, 9).Key("mean_log_probability").Double(text.mean_log_probability, 9);
  json.Key("self_certainty").Double(text.self_certainty, 9);
}

// Writes the cost of a search without cached tokens of earlier searches: the prompt's rows except the last, and a row for each token, which
// is chosen from that row's logits.
void WriteSearch(const BeamTexts& written, size_t prompt_tokens, JsonWriter& json) {
  const int64_t tokens = written.timings.output_tokens;
  json.Key("search_tokens").Int(tokens).Key("search_passes").Int(written.least_passes);
  json.Key("search_rows").Int(static_cast<int64_t>(prompt_tokens) - 1 + tokens);
}

// Adds the texts, sample 0 last: sample 0 marks the search as complete.
absl::Status AddTexts(const SampleProblem& problem, const BeamTexts& written, SampleFile& file, TaskSamples& summary) {
  for (size_t number = written.texts.size(); number-- > 0;) {
    const int sample = static_cast<int>(number);
    if (file.Has(problem.id, sample)) continue;
    const absl::Status added = file.Add(problem.id, sample, [&](JsonWriter& json) {
      WriteText(written.texts[number], json);
      if (number == 0) WriteSearch(written, problem.prompt.size(), json);
    });
    RETURN_IF_ERROR(added);
    ++summary.written;
  }
  return absl::OkStatus();
}

void AddPasses(const StepperReport& more, StepperReport& sum) {
  sum.passes += more.passes;
  sum.rows += more.rows;
  sum.prompt_rows += more.prompt_rows;
  sum.shared_tokens += more.shared_tokens;
  sum.preempted += more.preempted;
  sum.waited += more.waited;
  sum.most_texts = std::max(sum.most_texts, more.most_texts);
}

absl::Status OfProblem(const std::string& id, const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status) || IsWrongUsage(status)) return status;
  return absl::Status(status.code(), absl::StrCat("problem ", id, ": ", status.message()));
}

absl::Status WriteProblems(Engine& engine, const Task& task, const TaskPrompts& prompts, BeamRunOptions options, Scorer& scorer,
                           SampleFile& file, TaskSamples& summary) {
  Progress progress(absl::StrCat("searches of ", task.name), static_cast<int64_t>(prompts.problems.size()));
  for (size_t i = 0; i < prompts.problems.size(); ++i) {
    const SampleProblem& problem = prompts.problems[i];
    progress.Update(static_cast<int64_t>(i));
    if (file.Has(problem.id, 0)) continue;
    options.problem = task.problems[i].statement;
    const absl::StatusOr<BeamTexts> written = RunBeams(engine, problem.prompt, scorer, options);
    RETURN_IF_ERROR(OfProblem(problem.id, written.status()));
    RETURN_IF_ERROR(AddTexts(problem, *written, file, summary));
    summary.tokens += written->timings.output_tokens;
    AddPasses(written->passes, summary.stepper);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TaskSamples> WriteTaskBeams(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                           BeamRunOptions options, Scorer& scorer, const std::string& scorer_spec,
                                           const std::string& path) {
  options.starts_text = prompts.form != "raw";
  options.stop = task.stop;
  ASSIGN_OR_RETURN(const std::string scored_by, ScorerSettings(scorer_spec));
  absl::StatusOr<SampleFile> file = SampleFile::Open(path, SettingsOf(task, engine, model, options, scored_by, prompts.form));
  RETURN_IF_ERROR(ForFile("into", file.status()));
  TaskSamples summary = {.before = file->size()};
  const absl::Status status = WriteProblems(engine, task, prompts, options, scorer, *file, summary);
  RETURN_IF_ERROR(EndOf(status, file->Sync()));
  summary.samples = file->size();
  return summary;
}

}  // namespace tessera
