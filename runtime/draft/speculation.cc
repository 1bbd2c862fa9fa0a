#include "tessera/runtime/draft/speculation.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/file.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/vocabulary_of.h"
#include "tessera/spec/drafters/siblings_drafter.h"

namespace tessera {
namespace {

constexpr int64_t kHistoryBytes = int64_t{16} << 20;
constexpr int64_t kNowhereToBeHad = int64_t{1} << 60;
constexpr double kMeasureSeconds = 0.3;   // For a cost profile that is kept.

bool Exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// Returns whether there is anything to do: without drafters, a history still keeps the answers.
bool Useful(const std::vector<std::string>& drafters, const SpeculationOptions& options) {
  return !drafters.empty() || !options.history.empty();
}

absl::StatusOr<DrafterRegistry> RegistryOf(const SpeculationOptions& options, std::shared_ptr<const HistoryStore> history) {
  DrafterRegistry registry = DrafterRegistry::BuiltIn(std::move(history));
  for (const DrafterRegistry::Kind& kind : options.own_drafters) {
    if (kind.make == nullptr || kind.most_bytes == nullptr) {
      return WrongUsage("own_drafters", absl::StrCat("\"", kind.name, "\" without ", kind.make == nullptr ? "make" : "most_bytes"),
                        "make and most_bytes");
    }
    RETURN_IF_ERROR(ForField("own_drafters", registry.Add(kind)));
  }
  // One of own_drafters may have the name.
  if (options.siblings) RETURN_IF_ERROR(ForField("own_drafters", registry.Add(DrafterRegistry::Siblings())));
  return registry;
}

bool DraftFromSiblings(const std::vector<std::string>& drafters) {
  return std::find(drafters.begin(), drafters.end(), kSiblings) != drafters.end();
}

// Sets the yield of each drafter in `costs`: the tokens and rows per step as if the other drafters had drafted nothing.
void AddYields(const SpeculationReport& report, CostProfile& costs) {
  const auto per_step = [&](int64_t count) { return 1 + static_cast<double>(count) / static_cast<double>(report.steps); };
  for (const SpeculationReport::Source& source : report.sources) {
    if (report.steps == 0 || source.account.calls == 0) continue;
    costs.SetYield(source.name, {.tokens = per_step(source.account.accepted), .rows = per_step(source.account.verified)});
  }
}

}  // namespace

absl::Status PlanSpeculation(const SpeculationOptions& speculation, EngineOptions& options) {
  ASSIGN_OR_RETURN(const DrafterRegistry registry, RegistryOf(speculation, nullptr));
  const absl::StatusOr<std::vector<std::string>> drafters = registry.Parse(speculation.speculate);
  RETURN_IF_ERROR(ForField("speculate", drafters.status()));
  const std::string& costs = speculation.cost_profile;
  if (!costs.empty() && drafters->empty()) return WrongUsage("cost_profile", "with speculate=none", "drafters, which choose by it");
  if (!costs.empty()) RETURN_IF_ERROR(ForFile("cost_profile", Exists(costs) ? CostProfile::Load(costs).status() : CheckWritable(costs)));
  if (speculation.history_prompts && speculation.history.empty()) return WrongUsage("history_prompts", "without history", "both");
  if (!speculation.history.empty() && speculation.history_folder.empty()) {
    return WrongUsage("history", "no folder for it", "history_folder (of programs: TESSERA_CACHE or HOME in the environment)");
  }
  const int64_t history_bytes = speculation.history.empty() ? 0 : kHistoryBytes;
  if (Useful(*drafters, speculation)) PlanDrafting(speculation.speculate, history_bytes, options, registry);
  if (!DraftFromSiblings(*drafters)) return absl::OkStatus();
  options.workload.drafting_bytes = [rest = std::move(options.workload.drafting_bytes)](int context, int vocabulary) {
    return rest(context, vocabulary) + SharedHistory::UsualRoom(context) * SharedHistory::kMostBytesPerToken;
  };
  return absl::OkStatus();
}

void PlanDrafting(const std::string& drafters, int64_t history_bytes, EngineOptions& options, const DrafterRegistry& registry) {
  if (const std::vector<std::string> names = registry.Parse(drafters).value(); !names.empty()) {
    options.workload.least_logit_rows = options.workload.logit_rows + 1;  // With this minimum, one token per pass.
    // At most the logits of a tree (TreeLogits) and, before that, of a prompt for learning (AppendPrompt).
    options.workload.logit_rows += Session::kLogitRows;
  }
  const int texts = options.workload.sessions;
  options.workload.drafting_bytes = [history_bytes, texts, most_bytes = registry.MostBytes(drafters).value()](int context, int vocabulary) {
    const int64_t each = most_bytes({.context = context, .vocabulary = vocabulary});
    return history_bytes + CheckedMul(texts, each).value_or(kNowhereToBeHad);
  };
}

absl::Status Speculation::OpenHistory(const Engine& engine, const SpeculationOptions& options) {
  if (options.history.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<HistoryStore>> history =
      HistoryStore::Open(options.history_folder, options.history, VocabularyOf(engine.tokenizer()),
                         {.max_bytes = kHistoryBytes, .keep_prompts = options.history_prompts, .cancel = engine.options().cancel});
  RETURN_IF_ERROR(ForFile("history", history.status()));
  history_ = *std::move(history);
  return absl::OkStatus();
}

// Measuring never pays within one sequence: measuring takes longer than the loss until real steps tell the costs (docs/speculation.md). But
// a profile that is kept serves many sequences.
double Speculation::measure_seconds() const { return costs_path_.empty() ? 0 : kMeasureSeconds; }

absl::Status Speculation::ReadCosts(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (!Exists(path)) {
    costs_path_ = path;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(costs_, CostProfile::Load(path));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Speculation>> Speculation::Create(const Engine& engine, const SpeculationOptions& options,
                                                                 const Clock& clock) {
  auto speculation = std::unique_ptr<Speculation>(new Speculation());
  ASSIGN_OR_RETURN(DrafterRegistry registry, RegistryOf(options, nullptr));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, registry.Parse(options.speculate));
  if (!Useful(names, options)) return nullptr;
  RETURN_IF_ERROR(speculation->OpenHistory(engine, options));
  if (!names.empty()) RETURN_IF_ERROR(speculation->ReadCosts(options.cost_profile));
  if (DraftFromSiblings(names)) {
    speculation->sets_room_ = std::make_shared<SharedHistory::Room>(SharedHistory::UsualRoom(engine.context()));
  }
  const DraftingSize size = {.context = engine.context(), .vocabulary = engine.config().vocabulary, .costs = &speculation->costs_};
  ASSIGN_OR_RETURN(registry, RegistryOf(options, speculation->history_));
  speculation->make_drafters_ = [registry = std::move(registry), list = options.speculate, size] { return registry.Make(list, size); };
  speculation->speculator_options_ = {.weigh_costs = !names.empty(), .costs = &speculation->costs_, .clock = &clock,
                                       .drafted = SpendDraftStep(engine.options())};
  speculation->prune_ = names.empty() ? Pruning() : options.prune;
  speculation->rule_ = options.rule;
  RETURN_IF_ERROR(speculation->MakeSpeculator());
  return speculation;
}

absl::Status Speculation::MakeSpeculator() {
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, make_drafters_());
  speculators_.push_back(std::make_unique<Speculator>(std::move(drafters), speculator_options_));
  free_.push_back(speculators_.back().get());
  return absl::OkStatus();
}

absl::StatusOr<Speculator*> Speculation::Take() {
  if (free_.empty()) RETURN_IF_ERROR(MakeSpeculator());
  Speculator* const taken = free_.back();
  free_.pop_back();
  return taken;
}

// Takes the speculator back. The history that its last sequence drafted from belongs to another sequence by now, or is gone.
void Speculation::GiveBack(Speculator* speculator) {
  speculator->Join(nullptr);
  free_.push_back(speculator);
}

std::shared_ptr<SharedHistory> Speculation::NewSet() const {
  return sets_room_ == nullptr ? nullptr : std::make_shared<SharedHistory>(sets_room_);
}

void Speculation::Equip(Speculator& speculator, GenerateOptions& text) const {
  text.speculator = &speculator;
  text.prune = prune_;
  text.rule = rule_;
}

SpeculationReport Speculation::report() const {
  SpeculationReport sum = speculators_[0]->report();
  for (size_t i = 1; i < speculators_.size(); ++i) sum.Add(speculators_[i]->report());
  return sum;
}

void Speculation::Finish(absl::Span<const TokenId> prompt, const Generation& generation) {
  if (history_ == nullptr || generation.reason == FinishReason::kCancelled) return;
  history_->Add(prompt, generation.tokens);
}

absl::Status Speculation::Save() const {
  const absl::Status saved = history_ == nullptr ? absl::OkStatus() : history_->Save();
  if (costs_path_.empty() || lacks_costs()) return saved;
  CostProfile costs = costs_;
  AddYields(report(), costs);
  return Joined(saved, costs.Save(costs_path_));   // Also if the history could not be saved.
}

void WriteGain(JsonWriter& json, const SpeculationReport& report) {
  if (const std::optional<double> gain = report.Gain()) json.Double(*gain, 6); else json.Null();
}

void WriteSpeculation(JsonWriter& json, const SpeculationReport& report) {
  json.BeginObject().Key("passes").Int(report.steps).Key("tokens").Int(report.tokens).Key("rows").Int(report.rows);
  json.Key("tokens_per_pass").Double(report.TokensPerStep(), 6);
  WriteGain(json.Key("gain"), report);
  json.Key("predicted_gain").Double(report.PredictedGain(), 6);
  json.Key("predicted_tokens").Double(report.predicted_tokens, 6);
  json.Key("seconds").Double(report.Seconds(), 6).Key("predicted_seconds").Double(report.predicted_seconds, 6);
  json.Key("head_rows").Int(report.first_head_rows + report.later_head_rows + report.forecast_head_rows);
  json.Key("forecast_rows").Int(report.forecast_rows);
  json.Key("prompt_tokens").Int(report.prompt_tokens).Key("prompt_tokens_learnt_from").Int(report.prompt_learnt);
  json.Key("paused_passes").Int(report.paused_steps).Key("pauses").String(report.Pauses());
  json.Key("drafters").BeginArray();
  for (const SpeculationReport::Source& source : report.sources) {
    json.BeginObject().Key("name").String(source.name);
    if (!source.choice.empty()) json.Key("choice").String(source.choice);
    json.Key("proposed").Int(source.account.proposed);
    json.Key("verified").Int(source.account.verified).Key("accepted").Int(source.account.accepted);
    json.Key("paused_passes").Int(source.paused_steps).Key("seconds").Double(source.account.seconds, 6);
    json.Key("failures").Int(source.account.failures).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera
