// tessera_scale run: writes samples of a set's problems to a file, and continues a file of an earlier run.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/beam_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/grid/run_settings.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/task_beams.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/apps/lab/scale/tasks/task_samples.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kUsualSamples = 8, kMostSamples = 1024, kTogether = 16;

// Returns the number of --samples. This command takes one number.
absl::StatusOr<int> SamplesOfFlag() {
  if (FLAGS_samples == "default") return kUsualSamples;
  ASSIGN_OR_RETURN(const std::vector<int> samples, AscendingOfFlag("samples", FLAGS_samples, kMostSamples));
  if (samples.size() == 1) return samples[0];
  return WrongUsage("samples", FLAGS_samples, "one number: the most samples that judge will choose from");
}

absl::StatusOr<SampleOptions> OptionsOfFlags(const Task& task) {
  SampleOptions options = {.together = kTogether, .max_tokens = FLAGS_n_predict, .stop = task.stop};
  ASSIGN_OR_RETURN(options.samples, SamplesOfFlag());
  return options;
}

absl::Status CheckFlags() {
  if (FLAGS_into.empty()) return WrongUsage("into", "none", "a file for the samples");
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 20));
  RETURN_IF_ERROR(CheckConversationFlags());
  RETURN_IF_ERROR(CheckSamplingFlags());
  RETURN_IF_ERROR(CheckBeamFlags());
  if (FLAGS_beam.empty() && IsGiven("scorer")) return WrongUsage("scorer", "without --beam", "both: judge scores samples");
  // A search ends with at most as many texts as the width.
  return CheckNotBoth("samples", IsGiven("samples"), "beam", !FLAGS_beam.empty());
}

struct Summary {
  std::string path, task;
  int64_t problems = 0;
  TaskSamples samples = {};
  double seconds = 0;
};

std::string TextOf(const Summary& summary) {
  const TaskSamples& samples = summary.samples;
  return absl::StrFormat("%s: %d samples of %d problems of %s, %d of them from before; %d tokens in %.1f s, %.1f rows per pass\n",
                         summary.path, samples.samples, summary.problems, summary.task, samples.before, samples.tokens, summary.seconds,
                         static_cast<double>(samples.stepper.rows) / static_cast<double>(std::max<int64_t>(samples.stepper.passes, 1)));
}

std::string JsonOf(const Summary& summary) {
  const TaskSamples& samples = summary.samples;
  JsonWriter json;
  json.BeginObject().Key("path").String(summary.path).Key("task").String(summary.task).Key("problems").Int(summary.problems);
  json.Key("samples").Int(samples.samples).Key("before").Int(samples.before).Key("written").Int(samples.written);
  json.Key("tokens").Int(samples.tokens).Key("seconds").Double(summary.seconds, 4).Key("passes").Int(samples.stepper.passes);
  json.Key("rows").Int(samples.stepper.rows).Key("shared_tokens").Int(samples.stepper.shared_tokens);
  if (!FLAGS_beam.empty()) json.Key("beam").String(FLAGS_beam).Key("scorer").String(BeamScorerSpec());
  json.EndObject();
  return std::move(json).Take() + "\n";
}

absl::StatusOr<TaskSamples> WriteSearches(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                          const SamplingOptions& sampling) {
  ASSIGN_OR_RETURN(const BeamRunOptions options, BeamRunOfFlags(sampling));
  ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, BeamScorerOfFlags(engine, options, prompts.form == "raw"));
  return WriteTaskBeams(engine, task, prompts, model, options, *scorer, BeamScorerSpec(), FLAGS_into);
}

absl::StatusOr<Summary> WriteAllSamples(Engine& engine, const Task& task, const std::string& model, SampleOptions options) {
  ASSIGN_OR_RETURN(options.sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(const TaskPrompts prompts, PromptsOfTask(engine, task, FLAGS_texts));
  Summary summary = {.path = FLAGS_into, .task = task.name, .problems = static_cast<int64_t>(prompts.problems.size())};
  absl::StatusOr<TaskSamples> written = FLAGS_beam.empty() ? WriteTaskSamples(engine, task, prompts, model, options, FLAGS_into)
                                                           : WriteSearches(engine, task, prompts, model, options.sampling);
  ASSIGN_OR_RETURN(summary.samples, std::move(written));
  summary.seconds = SecondsSinceStart();
  return summary;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  const absl::StatusOr<Task> task = ReadTask(FLAGS_data, FLAGS_task);
  RETURN_IF_ERROR(ForFile("data", task.status()));
  ASSIGN_OR_RETURN(const SampleOptions options, OptionsOfFlags(*task));
  ASSIGN_OR_RETURN(EngineOptions engine_options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  RETURN_IF_ERROR(FLAGS_beam.empty() ? PlanSamples(options, engine_options) : PlanBeamsOfFlags(engine_options));
  ASSIGN_OR_RETURN(const ModelHash model, HashOfParts("model", engine_options.model_path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(engine_options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const Summary summary, WriteAllSamples(*engine, *task, ModelSettings(model), options));
  return WriteOutput(FLAGS_json ? JsonOf(summary) : TextOf(summary));
}

}  // namespace

Command ScaleRun() {
  return {{.subcommand = "run",
           .summary =
               "Writes samples of a set's problems. They are written together, 16 texts at a time, in passes that they share; each is "
               "what it would be alone with its seed and number. Each is added to the file of --into as it ends, with its mean "
               "log-probability and self-certainty, which judge takes as scorers. A run that was killed goes on where it ended; a file "
               "of other settings is refused. Problems are the first --texts of the set. --beam writes the texts that beam searches "
               "end with instead, each with its score.",
           .examples = {"tessera_scale run --data=FOLDER --task=gsm8k --samples=8 --texts=100 --into=samples.jsonl",
                        "tessera_scale run --data=FOLDER --task=humaneval --into=code.jsonl --temperature=0.2",
                        "tessera_scale run --data=FOLDER --beam=4x4 --scorer=self_certainty --into=beams.jsonl"},
           .groups = {{"Samples", {"task", "data", "texts", "samples", "into"}},
                      {"Beams", {"beam", "step_delimiter", "most_steps", "scorer"}, {"beam"}},
                      {"Text", {"raw", "chat_template", "n_predict"}},
                      SamplingFlags(),
                      {"Model", {"model", "threads", "context"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
