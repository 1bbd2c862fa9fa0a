// Writes the same texts in all ways of lever_systems.h, in turns, and keeps what each took.
//
//   const LeverEngines engines = {.target = target.get(), .draft = expander.get()};
//   ASSIGN_OR_RETURN(const LeverFindings findings, MeasureLever(engines, {.systems = specs, .sets = sets, .warm_up = hello}));
//   RETURN_IF_ERROR(WriteOutput(LeverText(findings)));         // lever_report.h
//   if (!findings.difference.empty()) return absl::InternalError(findings.difference);
//
// Texts are greedy. Each begins with an empty cache; its prompt, and its first token, are no part of any figure. Systems take turns prompt
// by prompt, and begin in turns. Each repetition has systems that know nothing of the one before: after the warm-up text they know what
// passes cost, and no more. The draft reads a prompt when it is first asked, in the time that counts.
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
  int left_out = 0;                 // Further prompts, which the context has no room for.
};

struct LeverPredictor {
  std::string path = {};
  const ExitPredictor* predictor = nullptr;   // For the target.
};

struct LeverEngines {
  Engine* target = nullptr;
  Engine* pinned = nullptr;         // For systems that pin the draft's bytes. Null: there are none.
  Expander* draft = nullptr;        // Null: no system has a tree.
  std::vector<LeverPredictor> predictors = {};   // By LeverSpec::predictor.
};

struct LeverOptions {
  std::vector<LeverSpec> systems = {};
  std::vector<LeverSet> sets = {};
  std::vector<TokenId> warm_up = {};   // A prompt that is in no set.
  int generate_tokens = 128;           // At most, per text.
  int repetitions = 1;
};

// Sums over texts, from each first token to the last.
struct LeverTotals {
  int64_t tokens = 0, passes = 0;
  int64_t rows = 0;                 // In these passes, without those that were pruned half-way.
  PruneReport pruned = {};
  double seconds = 0;
  double draft_seconds = 0;         // Part of them: in drafters and in choosing rows;
  double stall_seconds = 0;         // passes waited for weights.

  void Add(const LeverTotals& more);
  double TokensPerSecond() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
  double TokensPerPass() const { return passes > 0 ? static_cast<double>(tokens) / static_cast<double>(passes) : 0; }
  // Before rows were pruned.
  double RowsBelow() const { return passes > 0 ? static_cast<double>(rows + pruned.dropped) / static_cast<double>(passes) : 0; }
  double PrunedShare() const {
    return rows > 0 ? static_cast<double>(pruned.dropped) / static_cast<double>(rows + pruned.dropped) : 0;
  }
  double PassSeconds() const { return passes > 0 ? (seconds - draft_seconds) / static_cast<double>(passes) : 0; }
  double RowsPerPass() const { return passes > 0 ? static_cast<double>(rows) / static_cast<double>(passes) : 0; }
  double DraftShare() const { return seconds > 0 ? draft_seconds / seconds : 0; }
  double StallShare() const { return seconds > 0 ? stall_seconds / seconds : 0; }
};

// Where the memory of the systems goes, in bytes.
struct LeverMemory {
  int64_t draft = 0;                // Weights, cache and scratch.
  int64_t predictors = 0;           // All of them.
  int64_t weights = 0;              // The target's, all together. 0: they are not streamed.
  int64_t ring = 0, pins = 0;
  int64_t pins_instead = 0;         // What the engine pins that has the draft's bytes.
  int64_t budget = 0;               // What the process might have, with the target and the draft alone. 0: no limit.
};

// What is known of a predictor.
struct LeverPredictorFacts {
  std::string path = {};
  std::string kind = {};            // "vocabulary" or "width".
  int layer = 0;                    // After which it prunes.
};

struct LeverFindings {
  std::vector<LeverSpec> systems = {};
  std::vector<LeverSet> sets = {};
  std::vector<LeverPredictorFacts> predictors = {};
  std::vector<std::vector<std::vector<LeverTotals>>> totals = {};   // [system][set][repetition].
  std::vector<ReliabilityTable> tables = {};                        // [system], over all repetitions; empty without a draft model.
  std::string difference = {};      // The first text that is not that of the first system. Empty: there is none.
  bool streams = false;             // Else no pass waits for weights.
  LeverMemory memory = {};          // The caller's to fill in, as what follows.
  std::string auto_is = {};         // The system that auto is here. Empty: it is none of the systems.
  std::optional<DraftChoice> predicted = std::nullopt;   // Why. None: nothing was predicted.
};

// Cancelled if an engine's flag is set; the errors of passes. What drafters failed at is said as a warning: the text goes on without them.
absl::StatusOr<LeverFindings> MeasureLever(const LeverEngines& engines, const LeverOptions& options);

}  // namespace tessera
