// Texts of a streamed model with drafts of a small one by several rules, beside plain decoding.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/lever/lever_grid.h"
#include "tessera/apps/lab/lever/lever_models.h"
#include "tessera/apps/lab/lever/lever_prompts.h"
#include "tessera/apps/lab/lever/lever_pruning.h"
#include "tessera/apps/lab/lever/lever_report.h"
#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/apps/lab/lever/lever_systems.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kContext = 2048;        // Keys and values count to a budget, so figures depend on it.
constexpr int kDefaultTexts = 8, kDefaultRepetitions = 1;   // A text takes minutes without a draft.
constexpr int kRoomForTree = 66;      // In the context, behind a text.
constexpr char kWarmUp[] = "Say good morning in three languages.";
constexpr char kOfGrid[] = "pinned,pinned_retrieval,lever,lever_retrieval,auto";   // What auto may come to, and what it does without.

int Texts() { return IsGiven("texts") ? FLAGS_texts : kDefaultTexts; }
int Repetitions() { return IsGiven("repetitions") ? FLAGS_repetitions : kDefaultRepetitions; }

bool HasGrid() { return !FLAGS_memory_grid.empty(); }
std::string SystemsOfFlag() { return HasGrid() && !IsGiven("systems") ? kOfGrid : FLAGS_systems; }

absl::StatusOr<std::vector<double>> GridOfFlag() {
  std::vector<double> shares;
  for (const absl::string_view item : absl::StrSplit(FLAGS_memory_grid, ',')) {
    double share = 0;
    if (!absl::SimpleAtod(item, &share) || !(share > (shares.empty() ? 0 : shares.back()) && share <= 1)) {
      return WrongUsage("memory_grid", Quoted(item), "shares above 0 and at most 1, in ascending order: 0.25,0.5,0.8");
    }
    shares.push_back(share);
  }
  return shares;
}

absl::Status CheckGrid() {
  if (!HasGrid()) return absl::OkStatus();
  RETURN_IF_ERROR(GridOfFlag().status());
  RETURN_IF_ERROR(CheckNotBoth("memory_grid", true, "memory_budget", !FLAGS_memory_budget.empty()));
  RETURN_IF_ERROR(CheckNotBoth("memory_grid", true, "ring_share", IsGiven("ring_share")));
  RETURN_IF_ERROR(CheckNotBoth("memory_grid", true, "sweep", !FLAGS_sweep.empty()));
  RETURN_IF_ERROR(CheckNotBoth("memory_grid", true, "prune", !FLAGS_prune.empty()));
  return CheckNotBoth("memory_grid", true, "reliability", FLAGS_reliability);
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckGrid());
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 2));
  RETURN_IF_ERROR(CheckRepetitions());
  RETURN_IF_ERROR(CheckRingShare());
  if (FLAGS_plot.empty()) return absl::OkStatus();
  if (!FLAGS_reliability) return WrongUsage("plot", "it without --reliability", "both: that is what is drawn");
  return ForFile("plot", CheckTextFileWritable(FLAGS_plot));
}

bool Streams() { return IsGiven("ring_share") || !FLAGS_memory_budget.empty() || HasGrid(); }

bool Has(const std::vector<LeverSpec>& specs, bool (*is)(const LeverSpec& spec)) { return std::any_of(specs.begin(), specs.end(), is); }
bool HasTree(const LeverSpec& spec) { return !spec.tree.empty(); }
bool PinsDraft(const LeverSpec& spec) { return spec.pins_draft || spec.chooses; }
bool PinsAndRetrieves(const LeverSpec& spec) { return PinsDraft(spec) && spec.retrieval; }
bool Chooses(const LeverSpec& spec) { return spec.chooses; }
bool Retrieves(const LeverSpec& spec) { return spec.retrieval; }
bool IsLever(const LeverSpec& spec) { return spec.system == "lever"; }

// All systems are those that there is something to measure for.
absl::StatusOr<std::vector<LeverSpec>> SpecsOfFlags(const LeverPruneAsked& prune) {
  ASSIGN_OR_RETURN(std::vector<LeverSpec> specs, LeverSpecs(SystemsOfFlag(), FLAGS_sweep, !prune.predictors.empty()));
  ASSIGN_OR_RETURN(specs, WithPruning(specs, prune));
  if (FLAGS_systems == "all" && !Streams()) std::erase_if(specs, PinsDraft);
  if (Has(specs, PinsDraft) && !Streams()) {
    const char* const found = Has(specs, Chooses) ? "auto" : "pinned";
    return WrongUsage("systems", absl::StrCat(found, " without --memory_budget or --ring_share"),
                      "one of them: else all weights are in memory");
  }
  if (HasGrid() && (!Has(specs, Chooses) || specs.size() == 1)) {
    return WrongUsage("systems", absl::StrCat(FLAGS_systems, " with --memory_grid"), "auto and others, with which it is compared");
  }
  const bool needs_draft = Has(specs, HasTree) || Has(specs, PinsDraft);
  if (needs_draft && FLAGS_draft_model.empty()) {
    return WrongUsage("draft_model", "none", "a model that drafts, or --systems that need none: flash_ar, retrieval");
  }
  if (!needs_draft && !FLAGS_draft_model.empty()) {
    return WrongUsage("draft_model", absl::StrCat("it with --systems=", FLAGS_systems), "systems that need it, such as lever");
  }
  if (FLAGS_reliability && !Has(specs, IsLever)) {
    return WrongUsage("reliability", absl::StrCat("it with --systems=", FLAGS_systems), "lever among them, whose guesses are counted");
  }
  return specs;
}

// Prompts as dialogues. Those that leave no room for a text are left out.
absl::StatusOr<LeverOptions> AskedByFlags(const Engine& engine, std::vector<LeverSpec> specs, const std::vector<PromptCategory>& sets) {
  LeverOptions asked = {.systems = std::move(specs), .generate_tokens = FLAGS_generate_tokens, .repetitions = Repetitions()};
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf()));
  const auto tokens_of = [&](const std::string& prompt) {
    conversation.Reset();
    conversation.AddUser(prompt);
    return conversation.Tokens(engine.tokenizer());
  };
  const int64_t most = int64_t{engine.context()} - FLAGS_generate_tokens - kRoomForTree;
  ASSIGN_OR_RETURN(asked.warm_up, tokens_of(kWarmUp));
  for (const PromptCategory& set : sets) {
    LeverSet& kept = asked.sets.emplace_back(LeverSet{.name = set.name});
    for (const std::string& prompt : set.prompts) {
      ASSIGN_OR_RETURN(std::vector<TokenId> tokens, tokens_of(prompt));
      if (static_cast<int64_t>(tokens.size()) > most) kept.left_out += 1;
      else kept.prompts.push_back(std::move(tokens));
    }
    if (!kept.prompts.empty() && static_cast<int64_t>(asked.warm_up.size()) <= most) continue;
    return WrongUsage("context", absl::StrCat(engine.context(), " tokens"),
                      absl::StrCat("more: no prompt of ", set.name, " leaves room for ", FLAGS_generate_tokens, " tokens and a tree"));
  }
  return asked;
}

LeverModels::Options ModelsAsked(const std::vector<LeverSpec>& specs, const LeverPruneAsked& prune) {
  return {.draft_model = FLAGS_draft_model,
          .predictors = prune.predictors,
          .ring_share = FLAGS_ring_share,
          .drafts = Has(specs, HasTree) || Has(specs, Retrieves),
          .retrieval = Has(specs, Retrieves),
          .pins_draft = Has(specs, PinsDraft),
          .pins_retrieve = Has(specs, PinsAndRetrieves),
          .chooses = Has(specs, Chooses)};
}

absl::StatusOr<LeverFindings> Measure(const LeverModels::Options& models_asked, std::vector<LeverSpec> specs,
                                      const std::vector<PromptCategory>& sets) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LeverModels> models, LeverModels::Load(models_asked));
  const bool drafts = !models->choice().has_value() || models->choice()->drafts;
  const bool chooses = Has(specs, Chooses);
  ResolveAuto(drafts, specs);
  const LeverEngines engines = models->engines();
  ASSIGN_OR_RETURN(const LeverOptions asked, AskedByFlags(*engines.target, std::move(specs), sets));
  ASSIGN_OR_RETURN(LeverFindings findings, MeasureLever(engines, asked));
  findings.memory = models->memory();
  findings.predicted = models->choice();
  if (chooses) findings.auto_is = drafts ? "lever_retrieval" : "pinned_retrieval";
  return findings;
}

absl::Status RunGrid(const BenchHeading& heading, LeverModels::Options models_asked, const std::vector<LeverSpec>& specs,
                     const std::vector<PromptCategory>& sets) {
  ASSIGN_OR_RETURN(const std::vector<double> shares, GridOfFlag());
  std::vector<LeverGridPoint> points;
  std::string difference;
  for (const double share : shares) {
    models_asked.weights_share = share;
    ASSIGN_OR_RETURN(LeverFindings findings, Measure(models_asked, specs, sets));
    if (difference.empty()) difference = findings.difference;
    points.push_back({.share = share, .findings = std::move(findings)});
  }
  RETURN_IF_ERROR(ShowResult(heading, LeverGridText(points), [&](JsonWriter& json) { WriteLeverGrid(json.Key("grid"), points); }));
  return difference.empty() ? absl::OkStatus() : absl::InternalError(difference);
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  ASSIGN_OR_RETURN(const LeverPruneAsked prune, LeverPruneAsked::Parse(FLAGS_prune, FLAGS_prune_sweep));
  ASSIGN_OR_RETURN(const std::vector<LeverSpec> specs, SpecsOfFlags(prune));
  LeverModels::Options models_asked = ModelsAsked(specs, prune);
  const bool own_budgets = IsGiven("ring_share") || HasGrid();
  ASSIGN_OR_RETURN(models_asked.target, OptionsForContext(kContext, /*timeline=*/nullptr, own_budgets));
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(models_asked.target, Repetitions(), /*depth=*/std::nullopt));
  const absl::StatusOr<std::vector<PromptCategory>> sets = ReadLeverPrompts(FLAGS_data, FLAGS_categories, Texts());
  RETURN_IF_ERROR(ForFile("data", sets.status()));
  if (HasGrid()) return RunGrid(heading, models_asked, specs, *sets);
  ASSIGN_OR_RETURN(const LeverFindings findings, Measure(models_asked, specs, *sets));
  const LeverShow show = {.reliability = FLAGS_reliability};
  absl::Status saved;
  if (!FLAGS_plot.empty()) saved = WriteTextFile(FLAGS_plot, ReliabilitySvg(findings));
  const absl::Status shown = ShowResult(heading, LeverText(findings, show),
                                        [&](JsonWriter& json) { WriteLever(json.Key("lever"), findings, show); });
  RETURN_IF_ERROR(EndOf(shown, saved));
  return findings.difference.empty() ? absl::OkStatus() : absl::InternalError(findings.difference);
}

AppInfo Info() {
  return {.name = "tessera_lever",
           .summary = "Drafts of a small model for a streamed one, by several rules. The systems write the same prompts in turns: "
                      "flash_ar (no draft), chain, edgellm, specinfer, opt_tree, sequoia, eagle2, lever, retrieval (drafts from the "
                      "text), lever_retrieval, pinned (no draft, but as much of the weights in memory), pinned_retrieval, and "
                      "auto (this, or lever_retrieval, as predicted); with --prune (one predictor, or several with semicolons "
                      "between) also lever_pruned, lever_pruned_no_shadow and lever_pruned_no_safeguards. It fails if a text "
                      "differs. --categories: gsm8k, humaneval, mbpp, mt_bench. Without --texts there are 8 of each, without "
                      "--repetitions one.",
           .examples = {"tessera_lever --model m.tsr --draft_model d.gguf --ring_share 0.125",
                        "tessera_lever --model m.tsr --draft_model d.gguf --memory_budget 1GiB --systems lever",
                        "tessera_lever --model m.tsr --draft_model d.gguf --memory_grid 0.25,0.5,0.8",
                        "tessera_lever --draft_model d.gguf --sweep \"chain:tokens=4;chain:tokens=8\" --reliability",
                        "tessera_lever --draft_model self:q3 --prune exit.safetensors --systems lever,lever_pruned"},
           .groups = {{"Measurement", {"draft_model", "systems", "sweep", "prune", "prune_sweep", "data", "categories", "texts",
                                       "generate_tokens", "repetitions", "ring_share", "memory_grid", "reliability"},
                       {"draft_model", "systems", "sweep", "data", "categories", "texts", "generate_tokens", "repetitions"}},
                      ModelFlagsBut({"path", "recipe", "kv_block", "trace", "dry_run"}), StreamingFlags(),
                      {"Output", {"plot", "json"}}}};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
