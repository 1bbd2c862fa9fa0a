// tessera_scale score: scores recorded samples by a scorer that runs a model.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/apps/cli/flags/scorer_of_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/run_settings.h"
#include "tessera/apps/lab/scale/tasks/recorded_texts.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/read_confidence.h"

namespace tessera {
namespace {

constexpr char kLine[] = "\n";   // Ends a step of a recorded text.

std::string ScorerName() { return ScorerOfFlag("mean_log_probability"); }

absl::StatusOr<ScorerSpec> SpecOfFlags() {
  ASSIGN_OR_RETURN(ScorerSpec spec, ParseScorer(ScorerName()));
  RETURN_IF_ERROR(CheckScorer(ScorerName()));
  if (IsGiven("steps") && spec.kind != ScorerKind::kReward) {
    return WrongUsage("steps", absl::StrCat("it with ", ScorerName()), "a reward head as scorer");
  }
  return spec;
}

absl::StatusOr<EngineOptions> OptionsFor(const ScorerSpec& spec) {
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  RETURN_IF_ERROR(PlanScorer(ScorerName(), options));
  if (RunsModel(spec)) return options;
  options.workload.logit_rows = Session::kLogitRows + 1;
  options.workload.logits_of_each = true;
  return options;
}

struct Summary {
  std::string scorer = {};
  int64_t problems = 0, samples = 0, before = 0, scored = 0, tokens = 0, rows = 0;
};

class ScoreRun {
 public:
  ScoreRun(Engine& engine, const ModelHash& model, const RecordedSet& set, const ScorerSpec& spec)
      : engine_(engine), model_(model), set_(set), spec_(spec) {}

  absl::StatusOr<Summary> Run() {
    ASSIGN_OR_RETURN(const StepAggregate aggregate, StepAggregateOfName(FLAGS_steps));
    ASSIGN_OR_RETURN(scorer_, MakeScorer(ScorerName(), engine_, {.steps = {kLine, aggregate}, .raw = FLAGS_raw}));
    if (!RunsModel(spec_)) {
      ASSIGN_OR_RETURN(session_, engine_.NewSession());
    }
    const auto* const reward = dynamic_cast<const RewardScorer*>(scorer_.get());
    const bool is_public = reward != nullptr && reward->head().layout() == RewardHead::Layout::kValueHead;
    ASSIGN_OR_RETURN(const RecordedTexts texts,
                     RecordedTexts::Create(set_, engine_, is_public ? PromptForm::kStatement : PromptForm::kTask));
    ASSIGN_OR_RETURN(const std::string settings, SettingsOf(texts.form()));
    absl::StatusOr<SampleFile> file = SampleFile::Open(FLAGS_into, settings);
    RETURN_IF_ERROR(ForFile("into", file.status()));
    RETURN_IF_ERROR(ForFile("into", CheckTexts(*file)));
    return AddAll(texts, *file);
  }

 private:
  absl::StatusOr<std::string> SettingsOf(const std::string& form) const {
    ASSIGN_OR_RETURN(const std::string scorer, ScorerSettings(ScorerName()));
    return ScoreSettings({.task = set_.task.name,
                          .problems_sha256 = HashOfQuestions(set_.task, static_cast<int64_t>(set_.task.problems.size())),
                          .file = set_.file,
                          .model = ModelSettings(model_),
                          .form = form,
                          .scorer = scorer,
                          .steps = spec_.kind == ScorerKind::kReward ? FLAGS_steps : ""});
  }

  // Checks that the texts are unchanged: candidates that were generated anew have other scores.
  absl::Status CheckTexts(const SampleFile& file) const {
    for (const Question& question : set_.recorded.questions) {
      for (size_t place = 0; place < question.candidates.size(); ++place) {
        RETURN_IF_ERROR(file.CheckText(question.id, NumberOf(question, place), question.candidates[place].text));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Summary> AddAll(const RecordedTexts& texts, SampleFile& file) {
    Summary summary = {.scorer = std::string(scorer_->name()), .problems = static_cast<int64_t>(set_.recorded.questions.size()),
                       .before = file.size()};
    const int64_t rows_before = engine_.stats().rows;
    Progress progress("samples", set_.samples());
    int64_t done = 0;
    const absl::Status added = texts.ForEach([&](const RecordedSample& text) -> absl::Status {
      progress.Update(++done);
      if (file.Has(text.question->id, text.sample)) return absl::OkStatus();
      ASSIGN_OR_RETURN(const double score, ScoreOf(text));
      ++summary.scored;
      summary.tokens += static_cast<int64_t>(text.tokens.size());
      return file.Add(text.question->id, text.sample, [&](JsonWriter& json) { WriteMembers(*text.candidate, score, json); });
    });
    RETURN_IF_ERROR(EndOf(added, file.Sync()));
    summary.samples = file.size();
    summary.rows = engine_.stats().rows - rows_before;
    return summary;
  }

  absl::StatusOr<double> ScoreOf(const RecordedSample& text) {
    SampleText sample = {.prompt = text.prompt, .tokens = text.tokens, .text = text.candidate->text,
                         .problem = text.question->problem->statement};
    if (session_ != nullptr) {
      ASSIGN_OR_RETURN(const TextConfidence confidence, ReadConfidence(*session_, text.prompt, text.tokens));
      sample.mean_log_probability = confidence.mean_log_probability();
      sample.self_certainty = confidence.self_certainty();
    }
    ASSIGN_OR_RETURN(const double score, scorer_->Score(sample));
    if (score == score) return score;
    return absl::DataLossError(absl::StrCat("score of ", scorer_->name(), ": found no number, expected one: the model's states have none"));
  }

  // Writes the score and the sample's other figures, except a figure of this scorer's name.
  void WriteMembers(const JudgedSample& candidate, double score, JsonWriter& json) const {
    json.Key("text").String(candidate.text);
    for (const auto& [name, figure] : candidate.figures) {
      if (name != "sample" && name != scorer_->name()) json.Key(name).Double(figure);
    }
    json.Key(scorer_->name()).Double(score);
  }

  Engine& engine_;
  const ModelHash& model_;
  const RecordedSet& set_;
  const ScorerSpec& spec_;
  std::unique_ptr<Scorer> scorer_;
  std::unique_ptr<Session> session_;   // Null: the scorer runs the model itself.
};

std::string TextOf(const Summary& summary) {
  return absl::StrFormat("%s: %d samples of %d problems of %s scored by %s, %d of them from before; %d tokens in %d rows, %.1f s\n",
                         FLAGS_into, summary.samples, summary.problems, FLAGS_task, summary.scorer, summary.before, summary.tokens,
                         summary.rows, SecondsSinceStart());
}

std::string JsonOf(const Summary& summary) {
  JsonWriter json;
  json.BeginObject().Key("path").String(FLAGS_into).Key("task").String(FLAGS_task).Key("scorer").String(summary.scorer);
  json.Key("problems").Int(summary.problems).Key("samples").Int(summary.samples).Key("before").Int(summary.before);
  json.Key("scored").Int(summary.scored).Key("tokens").Int(summary.tokens).Key("rows").Int(summary.rows);
  json.Key("seconds").Double(SecondsSinceStart(), 4).EndObject();
  return std::move(json).Take() + "\n";
}

absl::Status Run() {
  if (FLAGS_into.empty()) return WrongUsage("into", "none", "a file for the scored samples");
  ASSIGN_OR_RETURN(const ScorerSpec spec, SpecOfFlags());
  RETURN_IF_ERROR(StepAggregateOfName(FLAGS_steps).status());
  RETURN_IF_ERROR(CheckConversationFlags());
  ASSIGN_OR_RETURN(const RecordedSet set, RecordedSetOfFlags());
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsFor(spec));
  ASSIGN_OR_RETURN(const ModelHash model, HashOfParts("model", options.model_path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ScoreRun run(*engine, model, set, spec);
  ASSIGN_OR_RETURN(const Summary summary, run.Run());
  return WriteOutput(FLAGS_json ? JsonOf(summary) : TextOf(summary));
}

}  // namespace

Command ScaleScore() {
  return {{.subcommand = "score",
           .summary =
               "Scores recorded samples by a model: reward:FILE, a head on its hidden states; judge or judge:FILE, the model asked whether "
               "an answer is right; mean_log_probability and self_certainty, by its own distribution of the text, whoever wrote it. Each "
               "sample is "
               "added to the file of --into with its figures and the score, under the scorer's name, by which judge then chooses. A run "
               "that was killed goes on where it ended; a file of other settings is refused. Without --candidates, samples are those of "
               "gsm8k_model_solutions.jsonl of --data.",
           .examples = {"tessera_scale score --candidates=samples.jsonl --scorer=reward:FILE --into=scored.jsonl",
                        "tessera_scale judge --candidates=scored.jsonl --scorer=reward"},
           .groups = {{"Samples", {"task", "data", "candidates", "split", "into"}},
                      {"Score", {"scorer", "steps"}},
                      {"Text", {"raw", "chat_template"}},
                      {"Model", {"model", "threads", "context"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
