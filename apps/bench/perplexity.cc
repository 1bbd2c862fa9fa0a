// Measures how well a model predicts a text.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/compare/attention_table.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/text/text_windows.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/show/streaming_report.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/logit_math.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {
      .name = "tessera_perplexity",
      .summary =
          "Measures how well a model predicts a text: exp of the mean of minus the log-probability of each token, given those "
          "before it in its window. Windows are whole, begin with BOS where the model asks for it, and are each computed "
          "from an empty cache; a window's first token is not scored.",
      .examples = {"tessera_perplexity --prompt_file article.txt", "tessera_perplexity --window 512 --max_windows 0 < book.txt",
                   "tessera_perplexity --jsonl < texts   # {\"id\": \"a\", \"text\": \"...\"}",
                   "tessera_perplexity --table=attention < article.txt   # what FP16 attention costs"},
      .groups = {{"Text", {"prompt", "prompt_file", "window", "max_windows", "table"}},
                 ModelFlags(),
                 AdapterFlags(),
                 StreamingFlags(),
                 {"Output", {"json", "jsonl"}}}};
}

struct Score {
  int64_t scored = 0;
  double nll_sum = 0;  // In nats.
  double Perplexity() const { return std::exp(nll_sum / static_cast<double>(scored)); }
};

absl::Status ScoreWindow(Session& session, absl::Span<const TokenId> window, Score& score) {
  session.Truncate(0);
  const absl::Span<const TokenId> predicting = window.first(window.size() - 1);
  return session.AppendEach(predicting, [&](int index, absl::Span<const float> logits) {
    score.nll_sum += LogSumExp(logits) - logits[window[index + 1]];
    ++score.scored;
    return absl::OkStatus();
  });
}

absl::StatusOr<Score> ScoreWindows(Engine& engine, Session& session, const TextWindows& windows, double flash) {
  Score score;
  PassProgress progress(engine, "tokens", static_cast<int64_t>(windows.size()) * (FLAGS_window - 1), flash);
  for (const std::vector<TokenId>& window : windows) RETURN_IF_ERROR(ScoreWindow(session, window, score));
  return score;
}

void WriteScore(JsonWriter& json, const Score& score) {
  json.Key("scored").Int(score.scored);
  json.Key("nll_sum").Double(score.nll_sum, 15);
  json.Key("perplexity").Double(score.Perplexity(), 15);
}

absl::Status AnswerRequests(const OpenedEngine& opened, LineReader& lines, const Adapters& adapters) {
  Engine& engine = *opened.engine;
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  AdaptedSession adapted;
  const StreamedRun run(engine, opened.flash_bytes_per_second);
  const RequestLimits limits = RequestLimits::OfCutTexts(engine);
  return ForEachRequest(lines, limits, [&](const Request& request) -> absl::StatusOr<std::string> {
    RETURN_IF_ERROR(CheckFields(request.body(), {"id", "text", "adapter"}));
    ASSIGN_OR_RETURN(const std::string text, request.body().String("text"));
    RETURN_IF_ERROR(limits.CheckText(static_cast<int64_t>(text.size())));
    ASSIGN_OR_RETURN(const int adapter, adapters.OfRequest(request.body()));
    RETURN_IF_ERROR(UseAdapter(engine, adapters, adapter, adapted));
    JsonWriter answer = BeginAnswer(request);
    ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(engine.tokenizer(), text));
    ASSIGN_OR_RETURN(const Score score, ScoreWindows(engine, *adapted.session, windows, run.flash_bytes_per_second()));
    WriteScore(answer, score);
    return WholeAnswer(std::move(answer));
  });
}

absl::Status ShowText(const OpenedEngine& opened, const std::string& text, const Adapters& adapters) {
  Engine& engine = *opened.engine;
  ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(engine.tokenizer(), text));
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession({.adapter = adapter.get()}));
  const StreamedRun run(engine, opened.flash_bytes_per_second);
  ASSIGN_OR_RETURN(const Score score, ScoreWindows(engine, *session, windows, run.flash_bytes_per_second()));
  run.WriteError();
  if (!FLAGS_json) {
    return WriteOutput(absl::StrFormat("perplexity %.4f over %d tokens (%.4f nats each)\n", score.Perplexity(), score.scored,
                                       score.nll_sum / static_cast<double>(score.scored)));
  }
  JsonWriter json;
  json.BeginObject();
  WriteScore(json, score);
  run.WriteMembers(json);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

// Checks flags that conflict with --table: the table has its own paths and devices, and no budget.
absl::Status CheckTable() {
  if (FLAGS_table != "attention") return WrongUsage("table", Quoted(FLAGS_table), "attention");
  for (const char* const flag : {"path", "recipe", "kv_block", "kv_format", "memory_budget", "adapter", "jsonl", "dry_run", "trace"}) {
    if (IsGiven(flag)) return WrongUsage(flag, "it with --table", "neither, or one of them: the table has its own ways to compute");
  }
  return absl::OkStatus();
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckWindowFlags());
  if (!FLAGS_table.empty()) RETURN_IF_ERROR(CheckTable());
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "json", FLAGS_json));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  options.workload.logit_rows = Session::kLogitRows + 1;
  options.workload.logits_of_each = true;
  CacheOptions& cache = options.cache;
  if (cache.context == 0) cache.context = FLAGS_window;  // Large enough, and the cache stays small.
  if (cache.context < FLAGS_window) {
    return WrongUsage("window", FLAGS_window, absl::StrCat("at most ", cache.context, ", the context (--context)"));
  }
  if (FLAGS_jsonl) PlanRequests({}, options);
  ASSIGN_OR_RETURN(const Adapters adapters, AdaptersOfFlags(options));
  if (FLAGS_dry_run) {
    return ShowLoadPlanOfCutText(options, [](const Engine& engine, const std::string& text) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(engine.tokenizer(), text));
      return static_cast<int64_t>(windows.size()) * FLAGS_window;
    });
  }
  if (!FLAGS_table.empty()) {
    ASSIGN_OR_RETURN(const std::string table_text, ReadPrompt());
    return ShowAttentionTable(options, table_text);
  }
  std::string text;
  LineReader lines;
  if (FLAGS_jsonl) {
    RETURN_IF_ERROR(lines.EditLines());
  } else {
    ASSIGN_OR_RETURN(text, ReadPrompt());
    PlanCutText(static_cast<int64_t>(text.size()), options);
  }
  ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(options));
  return trace.Finish(FLAGS_jsonl ? AnswerRequests(opened, lines, adapters) : ShowText(opened, text, adapters));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
