// Pruning in tessera_lever: the predictors and rules that are tried, and the results compared with lever without pruning.
//
//   ASSIGN_OR_RETURN(const LeverPruneAsked asked, LeverPruneAsked::Parse("a.safetensors;b.safetensors", "threshold=0.02;always,tau=2"));
//   ASSIGN_OR_RETURN(specs, WithPruning(specs, asked));       // of each system that prunes one variant per predictor and rule
//   RETURN_IF_ERROR(WriteOutput(LeverPruningText(findings)));
//
// A rule is a text for ParsePruneOptions, optionally with "always". "always" prunes wherever the rule could drop a row, even if pruning
// saves no time. An ablation sets shadow tokens and safeguards itself. Pure functions.
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
  std::vector<std::string> rules = {};        // None: the defaults of PruneOptions.

  // Parses two lists with items separated by semicolons; empty: no items. WrongUsage (prune; found, expected) for an empty path, or for a
  // path given twice. WrongUsage (prune_sweep) for an invalid rule, for a rule given twice, and for rules without a predictor.
  static absl::StatusOr<LeverPruneAsked> Parse(const std::string& prune, const std::string& sweep);
};

// Replaces each system that prunes by one variant per predictor and rule: "lever_pruned:threshold=0.02". With several predictors the
// variant also names the predictor's file ("lever_pruned:b.safetensors,threshold=0.02"). WrongUsage (prune) for predictors without a system
// that prunes. WrongUsage (systems) for a system that prunes without predictors.
absl::StatusOr<std::vector<LeverSpec>> WithPruning(const std::vector<LeverSpec>& specs, const LeverPruneAsked& asked);

// Results of pruning, over all sequences.
struct LeverPruningFigures {
  LeverTotals totals = {};
  double passes_share = 0;                 // Share of the passes that stopped for a predictor.
  std::optional<double> kept = {};         // Tokens per pass, as a share of lever's. nullopt: lever was not measured.
  std::optional<double> pass_time = {};    // Time of a pass as a share of lever's: without drafting, with the predictor. nullopt: likewise.
};
// Returns the figures of one system. lever: the system to compare with. REQUIRES: the system prunes.
LeverPruningFigures PruningFiguresOf(const LeverFindings& findings, size_t system, std::optional<size_t> lever);

// Returns a table of all variants that prune; empty: none prunes.
std::string LeverPruningText(const LeverFindings& findings, std::optional<size_t> lever);
// Writes {"predictor", "kind", "layer", "passes_share", "rows_below", "rows_above", "pruned_share", "lost", "kept", "pass_time"}, or null
// if the system does not prune.
void WriteLeverPruning(JsonWriter& json, const LeverFindings& findings, size_t system, std::optional<size_t> lever);

}  // namespace tessera
