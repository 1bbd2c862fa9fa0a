// Pruning in tessera_lever: which predictors and rules are tried, and what they came to beside lever without them.
//
//   ASSIGN_OR_RETURN(const LeverPruneAsked asked, LeverPruneAsked::Parse("a.safetensors;b.safetensors", "threshold=0.02;always,tau=2"));
//   ASSIGN_OR_RETURN(specs, WithPruning(specs, asked));       // of each system that prunes one variant per predictor and rule
//   RETURN_IF_ERROR(WriteOutput(LeverPruningText(findings)));
//
// A rule is what ParsePruneOptions reads, and perhaps "always": rows go wherever the rule could drop one, whether that saves time or not.
// An ablation has its own word on shadow tokens and safeguards. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/apps/lab/lever/lever_systems.h"

namespace tessera {

struct LeverPruneAsked {
  std::vector<std::string> predictors = {};   // Files. None: nothing is pruned.
  std::vector<std::string> rules = {};        // None: as PruneOptions are.

  // Both: texts separated by semicolons; empty: none. WrongUsage (prune; found, expected) for an empty path, or one that is there twice;
  // (prune_sweep) for a rule that is none, or is there twice, and for rules without a predictor.
  static absl::StatusOr<LeverPruneAsked> Parse(const std::string& prune, const std::string& sweep);
};

// In place of each system that prunes one of each predictor and rule: "lever_pruned:threshold=0.02", with the predictor's file before that
// if there are several ("lever_pruned:b.safetensors,threshold=0.02"). WrongUsage (prune) for predictors that no system asks for; (systems)
// for systems that have none.
absl::StatusOr<std::vector<LeverSpec>> WithPruning(const std::vector<LeverSpec>& specs, const LeverPruneAsked& asked);

// What pruning came to, over all texts.
struct LeverPruningFigures {
  LeverTotals totals = {};
  double passes_share = 0;                 // Passes that stopped for a predictor.
  std::optional<double> kept = {};         // Tokens per pass, of those of lever. Not there: that was not measured.
  std::optional<double> pass_time = {};    // As a share of lever's: without drafting, with the predictor. Likewise.
};
// lever: what it is held against. REQUIRES: the system prunes.
LeverPruningFigures PruningFiguresOf(const LeverFindings& findings, size_t system, std::optional<size_t> lever);

// A table of all variants; empty: nothing prunes.
std::string LeverPruningText(const LeverFindings& findings, std::optional<size_t> lever);
// {"predictor", "kind", "layer", "passes_share", "rows_below", "rows_above", "pruned_share", "lost", "kept", "pass_time"}; null: nothing is
// pruned.
void WriteLeverPruning(JsonWriter& json, const LeverFindings& findings, size_t system, std::optional<size_t> lever);

}  // namespace tessera
