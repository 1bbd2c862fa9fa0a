#include "tessera/apps/cli/speculation.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/vocabulary_of.h"
#include "tessera/spec/drafter_registry.h"

namespace tessera {
namespace {

constexpr int64_t kHistoryBytes = int64_t{16} << 20;
constexpr double kMeasureSeconds = 0.3;   // For a profile that is kept.

bool Exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

double RowsPerPass(const SpeculationReport& report) {
  return report.steps == 0 ? 0 : static_cast<double>(report.rows) / static_cast<double>(report.steps);
}

// Whether there is anything to do: without drafters, a history still keeps the answers.
bool Useful(const std::vector<std::string>& drafters) { return !drafters.empty() || !FLAGS_history.empty(); }

// Rows of logits: those of a tree (TreeLogits) and, before that, of a prompt that is learnt from (AppendPrompt).
int LogitRows(const std::string& list) {
  const int of_tree = std::min(Speculator::Options().max_rows, Session::kLogitRows);
  const std::vector<std::unique_ptr<Drafter>> drafters = DrafterRegistry::BuiltIn().Make(list, {.context = 1, .vocabulary = 1}).value();
  const bool learns = std::any_of(drafters.begin(), drafters.end(), [](const auto& drafter) { return drafter->needs().top_of_prompt > 0; });
  return learns ? std::max(of_tree, Session::kLogitRows) : of_tree;
}

}  // namespace

absl::Status ReadSpeculationFlags(EngineOptions& options) {
  const absl::StatusOr<std::vector<std::string>> drafters = DrafterRegistry::BuiltIn().Parse(FLAGS_speculate);
  RETURN_IF_ERROR(ForField("speculate", drafters.status()));
  if (!FLAGS_cost_profile.empty()) {
    RETURN_IF_ERROR(ForField("cost_profile", Exists(FLAGS_cost_profile) ? CostProfile::Load(FLAGS_cost_profile).status()
                                                                       : CheckWritable(FLAGS_cost_profile)));
  }
  if (FLAGS_history_prompts && FLAGS_history.empty()) {
    return WrongUsage("history_prompts", "without --history", "both");
  }
  if (Useful(*drafters)) PlanDrafting(FLAGS_speculate, FLAGS_history.empty() ? 0 : kHistoryBytes, options);
  return absl::OkStatus();
}

void PlanDrafting(const std::string& drafters, int64_t history_bytes, EngineOptions& options) {
  if (!DrafterRegistry::BuiltIn().Parse(drafters).value().empty()) {
    options.workload.least_logit_rows = options.workload.logit_rows + 1;  // Then one token per pass.
    options.workload.logit_rows += LogitRows(drafters);
  }
  options.workload.drafting_bytes = [drafters, history_bytes](int context, int vocabulary) {
    return history_bytes + DrafterRegistry::BuiltIn().MostBytes(drafters, {.context = context, .vocabulary = vocabulary}).value();
  };
}

absl::Status Speculation::OpenHistory(const Engine& engine) {
  if (FLAGS_history.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<HistoryStore>> history = HistoryStore::Open(
      absl::StrCat(CacheFolder(), "/history"), FLAGS_history, VocabularyOf(engine.tokenizer()),
      {.max_bytes = kHistoryBytes, .keep_prompts = FLAGS_history_prompts});
  RETURN_IF_ERROR(ForField("history", history.status()));
  history_ = *std::move(history);
  LOG_IF(WARNING, !history_->ignored().ok()) << "this history is ignored: " << history_->ignored().message();
  return absl::OkStatus();
}

// Measuring never pays within one text: it takes longer than what is lost until the costs are known from real steps (docs/speculation.md).
// But a profile that is kept serves many texts.
double Speculation::measure_seconds() const { return costs_path_.empty() ? 0 : kMeasureSeconds; }

absl::Status Speculation::ReadCosts() {
  if (FLAGS_cost_profile.empty()) return absl::OkStatus();
  if (!Exists(FLAGS_cost_profile)) {
    costs_path_ = FLAGS_cost_profile;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(costs_, CostProfile::Load(FLAGS_cost_profile));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Speculation>> Speculation::FromFlags(const Engine& engine) {
  auto speculation = std::unique_ptr<Speculation>(new Speculation());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, DrafterRegistry::BuiltIn().Parse(FLAGS_speculate));
  if (!Useful(names)) return nullptr;
  RETURN_IF_ERROR(speculation->OpenHistory(engine));
  if (!names.empty()) RETURN_IF_ERROR(speculation->ReadCosts());
  const DraftingSize size = {.context = engine.context(), .vocabulary = engine.config().vocabulary};
  const DrafterRegistry registry = DrafterRegistry::BuiltIn(speculation->history_);
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, registry.Make(FLAGS_speculate, size));
  const Speculator::Options options = {.weigh_costs = !names.empty(), .costs = &speculation->costs_};
  speculation->speculator_ = std::make_unique<Speculator>(std::move(drafters), options);
  return speculation;
}

void Speculation::Finish(absl::Span<const TokenId> prompt, const Generation& generation) {
  if (history_ == nullptr || generation.reason == FinishReason::kCancelled) return;
  history_->Add(prompt, generation.tokens);
}

absl::Status Speculation::Save() const {
  if (history_ != nullptr) {
    RETURN_IF_ERROR(ForField("history", history_->Save()));
    const absl::Status replaced = history_->replaced();
    LOG_IF(WARNING, !replaced.ok()) << "this history is replaced: " << replaced.message();
  }
  if (costs_path_.empty()) return absl::OkStatus();
  if (costs_.KnowsPlain()) return ForField("cost_profile", costs_.Save(costs_path_));
  LOG(WARNING) << "--cost_profile: " << costs_path_ << " is not written: no pass was measured";
  return absl::OkStatus();
}

std::string SpeculationLine(const SpeculationReport& report) {
  if (report.sources.empty()) return "nothing drafted";
  std::string line = absl::StrFormat("%.2f tokens a pass of %.1f rows, %.2f times as fast as plain passes (foreseen: %.2f)",
                                     report.TokensPerStep(), RowsPerPass(report), report.Gain(), report.PredictedGain());
  if (report.prompt_tokens > 0)
    absl::StrAppendFormat(&line, "; learnt from %d of %d prompt tokens", report.prompt_learnt, report.prompt_tokens);
  const std::string pauses = absl::StrReplaceAll(report.Pauses(), {{"\n", "; "}});
  if (!pauses.empty()) absl::StrAppend(&line, "; ", pauses);
  const std::string failures = absl::StrReplaceAll(report.Failures(), {{"\n", "; "}});
  if (!failures.empty()) absl::StrAppend(&line, "; ", failures);
  return line;
}

void WriteSpeculation(JsonWriter& json, const SpeculationReport& report) {
  json.BeginObject().Key("passes").Int(report.steps).Key("tokens").Int(report.tokens).Key("rows").Int(report.rows);
  json.Key("tokens_per_pass").Double(report.TokensPerStep(), 6);
  json.Key("gain").Double(report.Gain(), 6).Key("predicted_gain").Double(report.PredictedGain(), 6);
  json.Key("predicted_tokens").Double(report.predicted_tokens, 6);
  json.Key("seconds").Double(report.Seconds(), 6).Key("predicted_seconds").Double(report.predicted_seconds, 6);
  json.Key("head_rows").Int(report.first_head_rows + report.later_head_rows);
  json.Key("prompt_tokens").Int(report.prompt_tokens).Key("prompt_tokens_learnt_from").Int(report.prompt_learnt);
  json.Key("paused_passes").Int(report.paused_steps).Key("pauses").String(report.Pauses());
  json.Key("drafters").BeginArray();
  for (const SpeculationReport::Source& source : report.sources) {
    json.BeginObject().Key("name").String(source.name).Key("proposed").Int(source.account.proposed);
    json.Key("verified").Int(source.account.verified).Key("accepted").Int(source.account.accepted);
    json.Key("paused_passes").Int(source.paused_steps).Key("seconds").Double(source.account.seconds, 6);
    json.Key("failures").Int(source.account.failures).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera
