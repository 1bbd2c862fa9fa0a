#include "tessera/apps/answers/best_of.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/answers/written_result.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/parallel_flags.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/apps/cli/flags/scorer_of_flag.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/show/text_beginning.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scale/value/extract_answer.h"
#include "tessera/runtime/scale/value/same_answer.h"

namespace tessera {
namespace {

absl::StatusOr<Selection> SelectionOfFlag() {
  if (FLAGS_select == "best") return Selection::kBestOfN;
  if (FLAGS_select == "majority") return Selection::kMajority;
  if (FLAGS_select == "weighted") return Selection::kWeighted;
  return WrongUsage("select", Quoted(FLAGS_select), "best, majority or weighted");
}

std::string Spec() { return ScorerOfFlag("mean_log_probability"); }

// Returns true if --best_of or a request can set a number of samples.
bool HasSamples() { return FLAGS_best_of > 1 || (FLAGS_jsonl && FLAGS_parallel > 1); }

// Checks a flag that sets the choice: the flag needs samples.
absl::Status CheckHasSamples(const char* flag) {
  if (!IsGiven(flag) || HasSamples()) return absl::OkStatus();
  if (FLAGS_jsonl) return WrongUsage(flag, "beside --jsonl without --parallel", "both: samples of a request are written at once");
  return WrongUsage(flag, "without --best_of", "both: there is one text");
}

// Scores of heads and judges are from 0 to 1, and so is the exp of a log-probability. Nothing bounds a certainty.
void SetWeights(const ScorerSpec& spec, SampleSetOptions& options) {
  if (spec.kind == ScorerKind::kMeanLogProbability) options.weight = WeightOfLogProbability;
  if (spec.kind != ScorerKind::kSelfCertainty) options.most_weight = 1;
}

}  // namespace

absl::Status CheckBestOfFlags() {
  RETURN_IF_ERROR(CheckFlagRange("best_of", FLAGS_best_of, 1, kMostTexts));
  RETURN_IF_ERROR(CheckNotBoth("best_of", IsGiven("best_of"), "chat", FLAGS_chat));
  if (IsGiven("best_of") && FLAGS_jsonl) return WrongUsage("best_of", "beside --jsonl", "\"best_of\" in requests, which say it themselves");
  RETURN_IF_ERROR(CheckNotBoth("best_of", FLAGS_best_of > 1, "answers", FLAGS_answers > 1));
  RETURN_IF_ERROR(CheckNotBoth("best_of", FLAGS_best_of > 1, "session", !FLAGS_session.empty()));
  if (FLAGS_beam.empty()) RETURN_IF_ERROR(CheckHasSamples("scorer"));   // Beams have steps.
  RETURN_IF_ERROR(CheckHasSamples("select"));
  ASSIGN_OR_RETURN(const Selection selection, SelectionOfFlag());
  if (selection != Selection::kMajority) return CheckScorer(Spec());
  return IsGiven("scorer") ? WrongUsage("scorer", "beside --select=majority", "best or weighted: each vote of a majority counts as one")
                           : absl::OkStatus();
}

absl::Status PlanBestOf(EngineOptions& options) {
  if (!HasSamples()) return absl::OkStatus();
  if (FLAGS_best_of > 1) PlanSampleSet(FLAGS_best_of, FLAGS_n_predict, options);
  ASSIGN_OR_RETURN(const Selection selection, SelectionOfFlag());
  return selection == Selection::kMajority ? absl::OkStatus() : PlanScorer(Spec(), options);
}

absl::StatusOr<SampleSetOptions> SampleSetOptionsOfFlags(Engine& engine, bool raw) {
  SampleSetOptions options = {.samples = FLAGS_best_of};
  ASSIGN_OR_RETURN(options.selection, SelectionOfFlag());
  if (options.selection != Selection::kMajority) {
    ASSIGN_OR_RETURN(options.scorer, MakeScorer(Spec(), engine, {.raw = raw}));
    ASSIGN_OR_RETURN(const ScorerSpec spec, ParseScorer(Spec()));
    SetWeights(spec, options);
  }
  if (options.selection == Selection::kBestOfN) return options;
  options.answer = ExtractFormula;
  options.same = SameAnswer;
  return options;
}

absl::Status WriteBestOf(const OpenedEngine& opened, const NewAnswer& asked, const std::string& prompt, ParallelAnswers& answers) {
  ASSIGN_OR_RETURN(SampleSetOptions options, SampleSetOptionsOfFlags(*opened.engine, /*raw=*/!asked.starts_text));
  options.problem = prompt;
  SampleSet set(*opened.engine, asked, options, answers);
  Progress progress("samples", options.samples);
  RETURN_IF_ERROR(set.Run([&](int ended) { progress.Update(ended); }));
  progress.Erase();
  const Generation& best = set.result().best().written.text;
  if (FLAGS_json) {
    JsonWriter json;
    WriteText(best, json.BeginObject());
    WriteSampleSet(json.Key("best_of"), set.result());
    RETURN_IF_ERROR(EndJsonResult(std::move(json), opened, answers.timings()));
  } else {
    RETURN_IF_ERROR(WriteOutput(best.text + "\n"));
  }
  TellIfContextIsFull(*opened.engine, best);
  if (PromptGiven()) TellUnreadInput();
  TellSummary(opened, answers.timings());
  if (FLAGS_stats) WriteError(SampleSetTable(set.result()));
  TellOfWaits(answers);
  return TerminationRequested() ? absl::CancelledError("terminated") : absl::OkStatus();
}

std::string SampleSetTable(const SampleSetResult& result) {
  constexpr auto kRight = Table::Align::kRight;
  const bool votes = result.selection != Selection::kBestOfN;
  Table table({{"sample", kRight}, {"chosen"}, {"score", kRight}, {"tokens", kRight}, {"finish"}, {votes ? "answer" : "text"}});
  for (size_t i = 0; i < result.samples.size(); ++i) {
    const SetSample& sample = result.samples[i];
    const Generation& text = sample.written.text;
    table.AddRow({absl::StrCat(i), static_cast<int>(i) == result.chosen ? "yes" : "",
                  sample.score.has_value() ? absl::StrFormat("%.4f", *sample.score) : "-", absl::StrCat(text.tokens.size()),
                  sample.whole() ? std::string(FinishReasonName(text.reason)) : "cut off",
                  TextBeginning(votes ? sample.answer.value_or("-") : text.text)});
  }
  const int samples = static_cast<int>(result.samples.size());
  const std::string by = absl::StrCat(SelectionName(result.selection), result.scorer.empty() ? "" : absl::StrCat(" by ", result.scorer));
  if (result.whole_when_decided == samples) return absl::StrCat(table.ToString(), by, ", ", result.tokens, " tokens\n");
  return absl::StrCat(table.ToString(), by, ", decided when ", result.whole_when_decided, " of ", samples, " samples were whole: ",
                      result.tokens, " tokens, at most ", result.most_tokens_left_out, " not written\n");
}

}  // namespace tessera
