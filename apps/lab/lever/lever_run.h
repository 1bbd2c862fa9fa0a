// Generates the same sequences with all systems of lever_systems.h, in turns, and keeps each system's times and counts.
//
//   const LeverEngines engines = {.target = target.get(), .draft = expander.get()};
//   ASSIGN_OR_RETURN(const LeverFindings findings, MeasureLever(engines, {.systems = specs, .sets = sets, .warm_up = hello}));
//   RETURN_IF_ERROR(WriteOutput(LeverText(findings)));         // lever_report.h
//   if (!findings.difference.empty()) return absl::InternalError(findings.difference);
//
// Decoding is greedy. Each sequence begins with an empty cache. No figure includes the prompt or the first token. Systems take turns prompt
// by prompt, and begin in turns. Each repetition has new systems without knowledge of the repetition before: after the warm-up sequence, a
// system knows the costs of passes and nothing else. The draft reads a prompt at the first request for drafts, and that time counts.
// Threads: the engines', one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/lever/lever_systems.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/spec/policies/prune_gate.h"
#include "tessera/spec/speculation/draft_choice.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/reliability.h"

namespace tessera {

class ExitPredictor;

struct LeverSet {
  std::string name = {};
  std::vector<std::vector<TokenId>> prompts = {};
  int left_out = 0;                 // Further prompts that do not fit into the context.
};

struct LeverPredictor {
  std::string path = {};
  const ExitPredictor* predictor = nullptr;   // For the target.
};

struct LeverEngines {
  Engine* target = nullptr;
  Engine* pinned = nullptr;         // For systems that pin weights in the draft's memory. Null: no such systems.
  Expander* draft = nullptr;        // Null: no system has a tree.
  std::vector<LeverPredictor> predictors = {};   // By LeverSpec::predictor.
};

struct LeverOptions {
  std::vector<LeverSpec> systems = {};
  std::vector<LeverSet> sets = {};
  std::vector<TokenId> warm_up = {};   // A prompt outside all sets.
  int generate_tokens = 128;           // Maximum per sequence.
  int repetitions = 1;
};

// Sums over sequences, from each sequence's first token to the last.
struct LeverTotals {
  int64_t tokens = 0, passes = 0;
  int64_t rows = 0;                 // Rows of the passes, without rows that were pruned half-way.
  PruneReport pruned = {};
  double seconds = 0;
  double draft_seconds = 0;         // Part of `seconds`: in drafters and in choosing rows;
  double stall_seconds = 0;         // and waiting of passes for weights.

  void Add(const LeverTotals& more);
  double TokensPerSecond() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
  double TokensPerPass() const { return passes > 0 ? static_cast<double>(tokens) / static_cast<double>(passes) : 0; }
  // Rows per pass before pruning.
  double RowsBelow() const { return passes > 0 ? static_cast<double>(rows + pruned.dropped) / static_cast<double>(passes) : 0; }
  double PrunedShare() const {
    return rows > 0 ? static_cast<double>(pruned.dropped) / static_cast<double>(rows + pruned.dropped) : 0;
  }
  double PassSeconds() const { return passes > 0 ? (seconds - draft_seconds) / static_cast<double>(passes) : 0; }
  double RowsPerPass() const { return passes > 0 ? static_cast<double>(rows) / static_cast<double>(passes) : 0; }
  double DraftShare() const { return seconds > 0 ? draft_seconds / seconds : 0; }
  double StallShare() const { return seconds > 0 ? stall_seconds / seconds : 0; }
};

// Memory of the systems, in bytes.
struct LeverMemory {
  int64_t draft = 0;                // Weights, cache and scratch.
  int64_t predictors = 0;           // All of them.
  int64_t weights = 0;              // The target's, all together. 0: the weights are not streamed.
  int64_t ring = 0, pins = 0;
  int64_t pins_instead = 0;         // Pins of the engine that pins weights instead of the draft.
  int64_t budget = 0;               // The process's budget, with the target and the draft alone. 0: no limit.
};

// Facts about a predictor.
struct LeverPredictorFacts {
  std::string path = {};
  std::string kind = {};            // "vocabulary" or "width".
  int layer = 0;                    // The layer after which rows are pruned.
};

struct LeverFindings {
  std::vector<LeverSpec> systems = {};
  std::vector<LeverSet> sets = {};
  std::vector<LeverPredictorFacts> predictors = {};
  std::vector<std::vector<std::vector<LeverTotals>>> totals = {};   // [system][set][repetition].
  std::vector<ReliabilityTable> tables = {};                        // [system], over all repetitions; empty without a draft model.
  std::string difference = {};      // The first sequence that differs from the first system's. Empty: none.
  bool streams = false;             // False: no pass waits for weights.
  LeverMemory memory = {};          // The caller fills in this field and the following ones.
  std::string auto_is = {};         // The system that auto became. Empty: auto is not among the systems.
  std::optional<DraftChoice> predicted = std::nullopt;   // The prediction behind auto_is. None: nothing was predicted.
};

// Measures all systems. Cancelled if an engine's cancel flag is set; also the errors of passes. A drafter's error becomes a warning, and
// the sequence goes on without drafts.
absl::StatusOr<LeverFindings> MeasureLever(const LeverEngines& engines, const LeverOptions& options);

}  // namespace tessera
