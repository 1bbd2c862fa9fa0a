// tessera_scale run: writes samples of a set's problems into a file, and goes on with it where an earlier run ended.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/chat_flags.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/sampling_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/scale/commands/scale_commands.h"
#include "tessera/apps/scale/sample_file.h"
#include "tessera/apps/scale/sample_run.h"
#include "tessera/apps/scale/tasks.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {
namespace {

constexpr int kUsualSamples = 8, kMostSamples = 1024, kTogether = 16;

// --samples: one number here.
absl::StatusOr<int> SamplesOfFlag() {
  if (FLAGS_samples == "default") return kUsualSamples;
  ASSIGN_OR_RETURN(const std::vector<int> samples, AscendingOfFlag("samples", FLAGS_samples, kMostSamples));
  if (samples.size() == 1) return samples[0];
  return WrongUsage("samples", FLAGS_samples, "one number, as many as a later judge takes at most");
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
  return CheckSamplingFlags();
}

// The model's template, with one date for all runs: a run that goes on another day has the same prompts.
absl::StatusOr<Conversation> NewConversation(const Engine& engine) {
  constexpr int64_t kDate = 1'735'689'600;   // 2025 begins.
  ASSIGN_OR_RETURN(ConversationOptions options, ConversationOptionsOfFlags());
  options.unix_seconds = kDate;
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine.model().gguf(), options));
  if (conversation.raw() && !FLAGS_raw) {
    WriteError("The model has no chat template: problems are given to it as they are (--raw says so without this note).\n");
  }
  return conversation;
}

struct Prompts {
  std::string form = "raw";   // Or the template's name.
  std::vector<SampleProblem> problems = {};
};

// Each problem as the model is given it: a function's beginning as it is, others as a message unless --raw is given.
absl::StatusOr<Prompts> PromptsFor(const Engine& engine, const Task& task) {
  const absl::Span<const Problem> asked = absl::MakeConstSpan(task.problems).first(
      std::min(task.problems.size(), static_cast<size_t>(FLAGS_texts)));
  Prompts prompts;
  if (task.kind == TaskKind::kCompletion) {
    for (const Problem& problem : asked) {
      prompts.problems.push_back({.id = problem.id, .prompt = engine.tokenizer().Encode(problem.prompt, {.add_bos = true})});
    }
    return prompts;
  }
  ASSIGN_OR_RETURN(Conversation conversation, NewConversation(engine));
  prompts.form = std::string(conversation.form());
  for (const Problem& problem : asked) {
    conversation.Reset();
    conversation.AddUser(problem.prompt);
    ASSIGN_OR_RETURN(std::vector<TokenId> tokens, conversation.Tokens(engine.tokenizer()));
    prompts.problems.push_back({.id = problem.id, .prompt = std::move(tokens)});
  }
  return prompts;
}

// All that a sample's text depends on, but for its problem and number.
std::string SettingsOf(const Task& task, const Engine& engine, const SampleOptions& options, absl::string_view form) {
  const std::string& path = engine.options().model_path;
  const SamplingOptions& sampling = options.sampling;
  return absl::StrCat(task.name, ", ", path.substr(path.rfind('/') + 1), ", ", form, ", at most ", options.max_tokens,
                      " tokens, temperature ", sampling.temperature, ", top_k ", sampling.top_k, ", top_p ", sampling.top_p, ", min_p ",
                      sampling.min_p, ", repetition_penalty ", sampling.repetition_penalty, " over ", sampling.penalty_window,
                      ", seed ", sampling.seed);
}

struct Summary {
  std::string path, task;
  int64_t problems = 0, samples = 0, before = 0, written = 0, tokens = 0;
  double seconds = 0;
  StepperReport stepper = {};
};

std::string TextOf(const Summary& summary) {
  return absl::StrFormat("%s: %d samples of %d problems of %s, %d of them from before; %d tokens in %.1f s, %.1f rows per pass\n",
                         summary.path, summary.samples, summary.problems, summary.task, summary.before, summary.tokens, summary.seconds,
                         static_cast<double>(summary.stepper.rows) / static_cast<double>(std::max<int64_t>(summary.stepper.passes, 1)));
}

std::string JsonOf(const Summary& summary) {
  JsonWriter json;
  json.BeginObject().Key("path").String(summary.path).Key("task").String(summary.task).Key("problems").Int(summary.problems);
  json.Key("samples").Int(summary.samples).Key("before").Int(summary.before).Key("written").Int(summary.written);
  json.Key("tokens").Int(summary.tokens).Key("seconds").Double(summary.seconds, 4).Key("passes").Int(summary.stepper.passes);
  json.Key("rows").Int(summary.stepper.rows).Key("shared_tokens").Int(summary.stepper.shared_tokens).EndObject();
  return std::move(json).Take() + "\n";
}

absl::StatusOr<Summary> WriteAllSamples(Engine& engine, const Task& task, SampleOptions options) {
  ASSIGN_OR_RETURN(options.sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(const Prompts prompts, PromptsFor(engine, task));
  const std::vector<SampleProblem>& problems = prompts.problems;
  options.starts_text = prompts.form != "raw";
  absl::StatusOr<SampleFile> file = SampleFile::Open(FLAGS_into, SettingsOf(task, engine, options, prompts.form));
  RETURN_IF_ERROR(ForFile("into", file.status()));
  Summary summary = {.path = FLAGS_into, .task = task.name, .problems = static_cast<int64_t>(problems.size()), .before = file->size()};
  Progress progress("samples", summary.problems * options.samples);
  const auto keep = [&](const Sample& sample) -> absl::Status {
    RETURN_IF_ERROR(file->Add(sample));
    summary.tokens += sample.tokens;
    progress.Update(file->size());
    ++summary.written;
    return absl::OkStatus();
  };
  const absl::StatusOr<StepperReport> report =
      WriteSamples(engine, problems, options, [&](absl::string_view id, int sample) { return file->Has(id, sample); }, keep);
  RETURN_IF_ERROR(EndOf(report.status(), file->Sync()));
  summary.stepper = *report;
  summary.samples = file->size();
  summary.seconds = SecondsSinceStart();
  return summary;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  const absl::StatusOr<Task> task = ReadTask(FLAGS_data, FLAGS_task);
  RETURN_IF_ERROR(ForFile("data", task.status()));
  ASSIGN_OR_RETURN(const SampleOptions options, OptionsOfFlags(*task));
  ASSIGN_OR_RETURN(EngineOptions engine_options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  RETURN_IF_ERROR(PlanSamples(options, engine_options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(engine_options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const Summary summary, WriteAllSamples(*engine, *task, options));
  return WriteOutput(FLAGS_json ? JsonOf(summary) : TextOf(summary));
}

}  // namespace

Command ScaleRun() {
  return {{.subcommand = "run",
           .summary =
               "Writes samples of a set's problems. They are written together, 16 texts at a time, in passes that they share; each is "
               "what it would be alone with its seed and number. Each is added to the file of --into as it ends, with its mean "
               "log-probability and self-certainty, which judge takes as scorers. A run that was killed goes on where it ended; a file "
               "of other settings is refused. Problems are the first --texts of the set.",
           .examples = {"tessera_scale run --data=FOLDER --task=gsm8k --samples=8 --texts=100 --into=samples.jsonl",
                        "tessera_scale run --data=FOLDER --task=humaneval --into=code.jsonl --temperature=0.2"},
           .groups = {{"Samples", {"task", "data", "texts", "samples", "into"}},
                      {"Text", {"raw", "chat_template", "n_predict"}},
                      SamplingFlags(),
                      {"Model", {"model", "threads", "context"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
