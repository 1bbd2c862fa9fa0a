#include "tessera/apps/lab/lever/lever_pruning.h"

#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/spec/policies/prune_rule.h"

namespace tessera {
namespace {

constexpr char kPrune[] = "prune", kSweep[] = "prune_sweep", kAlways[] = "always";

// Returns the texts between semicolons. Each may occur once.
absl::StatusOr<std::vector<std::string>> ListOf(const char* field, const std::string& text, const char* expected) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (const absl::string_view item : absl::StrSplit(text, ';')) {
    const bool again = std::find(items.begin(), items.end(), item) != items.end();
    if (item.empty() || again) return WrongUsage(field, absl::StrCat(Quoted(item), again ? " twice" : ""), expected);
    items.emplace_back(item);
  }
  return items;
}

// Sets the rule of a spec. The rule may say "always".
absl::Status ApplyRule(const std::string& rule, LeverSpec& spec) {
  std::vector<absl::string_view> parts = absl::StrSplit(rule, ',', absl::SkipEmpty());
  const auto always = std::find(parts.begin(), parts.end(), kAlways);
  if (always != parts.end()) {
    parts.erase(always);
    spec.always_prunes = true;
  }
  const absl::StatusOr<PruneOptions> options = ParsePruneOptions(absl::StrJoin(parts, ","), spec.rule);
  RETURN_IF_ERROR(ForField(kSweep, options.status()));
  spec.rule = *options;
  return absl::OkStatus();
}

// Returns the names without folders, unless two would be the same.
std::vector<std::string> ShortNames(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(path.substr(path.rfind('/') + 1));
    if (std::count(names.begin(), names.end(), names.back()) > 1) return paths;
  }
  return names;
}

double Over(int64_t part, int64_t all) { return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0; }

LeverTotals AllOf(const LeverFindings& findings, size_t system) {
  LeverTotals sum;
  for (const auto& repetitions : findings.totals[system]) {
    for (const LeverTotals& totals : repetitions) sum.Add(totals);
  }
  return sum;
}

std::string Percent(std::optional<double> share) { return share.has_value() ? absl::StrFormat("%.1f %%", 100 * *share) : "-"; }

const LeverPredictorFacts& PredictorOf(const LeverFindings& findings, size_t system) {
  return findings.predictors[static_cast<size_t>(findings.systems[system].predictor)];
}

}  // namespace

absl::StatusOr<LeverPruneAsked> LeverPruneAsked::Parse(const std::string& prune, const std::string& sweep) {
  LeverPruneAsked asked;
  ASSIGN_OR_RETURN(asked.predictors, ListOf(kPrune, prune, "files of predictors with semicolons between, each once"));
  ASSIGN_OR_RETURN(asked.rules, ListOf(kSweep, sweep, "rules with semicolons between, each once: threshold=0.02;threshold=0.05,tau=2"));
  if (!asked.rules.empty() && asked.predictors.empty()) return WrongUsage(kSweep, "without --prune", "both: a predictor to prune by");
  for (const std::string& rule : asked.rules) {
    LeverSpec spec;
    RETURN_IF_ERROR(ApplyRule(rule, spec));
  }
  return asked;
}

absl::StatusOr<std::vector<LeverSpec>> WithPruning(const std::vector<LeverSpec>& specs, const LeverPruneAsked& asked) {
  const auto prunes = [](const LeverSpec& spec) { return spec.prunes; };
  const auto first = std::find_if(specs.begin(), specs.end(), prunes);
  const bool any = first != specs.end();
  if (any && asked.predictors.empty()) {
    return WrongUsage("systems", absl::StrCat(first->system, " without --prune"), "both: a predictor to prune by");
  }
  if (!any && !asked.predictors.empty()) return WrongUsage(kPrune, "it with systems that do not prune", "lever_pruned among --systems");
  const std::vector<std::string> rules = asked.rules.empty() ? std::vector<std::string>{""} : asked.rules;
  const std::vector<std::string> names = ShortNames(asked.predictors);
  std::vector<LeverSpec> all;
  for (const LeverSpec& spec : specs) {
    if (!spec.prunes) all.push_back(spec);
    for (size_t i = 0; spec.prunes && i < asked.predictors.size(); ++i) {
      for (const std::string& rule : rules) {
        LeverSpec& variant = all.emplace_back(spec);
        variant.predictor = static_cast<int>(i);
        RETURN_IF_ERROR(ApplyRule(rule, variant));
        std::vector<std::string> said;
        if (asked.predictors.size() > 1) said.push_back(names[i]);
        if (!rule.empty()) said.push_back(rule);
        if (!said.empty()) variant.variant = absl::StrCat(spec.system, ":", absl::StrJoin(said, ","));
      }
    }
  }
  return all;
}

LeverPruningFigures PruningFiguresOf(const LeverFindings& findings, size_t system, std::optional<size_t> lever) {
  CHECK(findings.systems[system].prunes);
  LeverPruningFigures figures = {.totals = AllOf(findings, system)};
  const LeverTotals& totals = figures.totals;
  figures.passes_share = Over(totals.pruned.passes, totals.passes);
  if (!lever.has_value()) return figures;
  const LeverTotals whole = AllOf(findings, *lever);
  if (whole.TokensPerPass() > 0) figures.kept = totals.TokensPerPass() / whole.TokensPerPass();
  if (whole.PassSeconds() > 0) figures.pass_time = totals.PassSeconds() / whole.PassSeconds();
  return figures;
}

std::string LeverPruningText(const LeverFindings& findings, std::optional<size_t> lever) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"pruned"}, {"by"}, {"layer", kRight}, {"passes", kRight}, {"rows below", kRight}, {"above", kRight}, {"pruned", kRight},
               {"lost", kRight}, {"kept", kRight}, {"pass takes", kRight}});
  bool any = false;
  for (size_t system = 0; system < findings.systems.size(); ++system) {
    if (!findings.systems[system].prunes) continue;
    any = true;
    const LeverPruningFigures figures = PruningFiguresOf(findings, system, lever);
    const LeverTotals& totals = figures.totals;
    const LeverPredictorFacts& predictor = PredictorOf(findings, system);
    table.AddRow({findings.systems[system].variant, predictor.kind, absl::StrCat(predictor.layer), Percent(figures.passes_share),
                  absl::StrFormat("%.1f", totals.RowsBelow()), absl::StrFormat("%.1f", totals.RowsPerPass()), Percent(totals.PrunedShare()),
                  Percent(Over(totals.pruned.lost, totals.passes)), Percent(figures.kept), Percent(figures.pass_time)});
  }
  if (!any) return "";
  return absl::StrCat("\n", table.ToString(),
                      "passes: that stopped for the predictor; rows below and above its layer, per pass; lost: passes after which the text "
                      "went where a pruned row was; kept: tokens per pass, of lever's; pass takes: of lever's time, without drafting\n");
}

void WriteLeverPruning(JsonWriter& json, const LeverFindings& findings, size_t system, std::optional<size_t> lever) {
  if (!findings.systems[system].prunes) {
    json.Null();
    return;
  }
  const LeverPruningFigures figures = PruningFiguresOf(findings, system, lever);
  const LeverTotals& totals = figures.totals;
  const LeverPredictorFacts& predictor = PredictorOf(findings, system);
  json.BeginObject().Key("predictor").String(predictor.path).Key("kind").String(predictor.kind).Key("layer").Int(predictor.layer);
  const auto number = [&](const char* name, std::optional<double> value) {
    json.Key(name);
    value.has_value() ? json.Double(*value, 6) : json.Null();
  };
  number("passes_share", figures.passes_share);
  number("rows_below", totals.RowsBelow());
  number("rows_above", totals.RowsPerPass());
  number("pruned_share", totals.PrunedShare());
  number("lost", Over(totals.pruned.lost, totals.passes));
  number("kept", figures.kept);
  number("pass_time", figures.pass_time);
  json.EndObject();
}

}  // namespace tessera
