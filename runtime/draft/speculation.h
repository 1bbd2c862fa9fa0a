// Sets up speculation for requests: drafters, a history of answers, and costs of passes. Keeps history and costs for later runs.
//
//   const SpeculationOptions speculation = {.speculate = "auto", .history = "mail", .history_folder = folder};
//   RETURN_IF_ERROR(PlanSpeculation(speculation, options));          // before the engine is opened: memory plans count it
//   ASSIGN_OR_RETURN(const std::unique_ptr<Speculation> drafts, Speculation::Create(*engine, speculation));   // null: of no use
//   GenerateOptions generate = {.measure_seconds = drafts->measure_seconds()};
//   drafts->Equip(drafts->speculator(), generate);                   // the text's speculator, and how its drafts are pruned and accepted
//   drafts->Finish(prompt, generation);                              // the history remembers it
//   RETURN_IF_ERROR(drafts->Save());
//   drafts->history()->replaced();                                   // why the file that was there is lost; OK: it is not
//
// Requests that run at once draft separately, with one history and one table of costs:
//
//   ASSIGN_OR_RETURN(Speculator* const speculator, drafts->Take());           // one that no other text has
//   ... StreamOptions with it, StepperOptions::costs = &drafts->costs() ...
//   drafts->GiveBack(speculator);                                             // the text has ended
//
// With SpeculationOptions::siblings, samples of one problem draft from each other:
//
//   const std::shared_ptr<SharedHistory> set = drafts->NewSet();              // of the problem, until its last text has ended
//   drafts->Equip(*speculator, stream.text);
//   stream.text.siblings = set;                                               // of each of them
//
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/spec/drafters/history/shared_history.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

// Chooses drafters, history and costs.
struct SpeculationOptions {
  std::string speculate = "auto";      // Drafters, as for DrafterRegistry::Make. None with a history: answers are kept only.
  std::string history = {};            // The name of a history to draft from and to extend with new answers; empty: none.
  std::string history_folder = {};     // The folder of the history.
  bool history_prompts = false;        // Keep prompts, too, not only answers.
  std::string cost_profile = {};       // A file with costs of passes. Save writes a missing file. Empty: learnt in each run.
  // Drafters of the caller, in addition to the built-in drafters: `speculate` may name them, and "auto" includes them.
  std::vector<DrafterRegistry::Kind> own_drafters = {};
  Pruning prune = {};                  // For all drafts. PlanSpeculation does not count the predictor's memory.
  DraftRule rule = DraftRule::kMatch;  // For drafters that sample.
  // Requests may form sets (Speculation::NewSet): "auto" then includes the drafter "siblings", and `speculate` may name "siblings".
  bool siblings = false;
};

// Checks the options, and adds the memory that the options need to memory plans. WrongUsage names the field.
absl::Status PlanSpeculation(const SpeculationOptions& speculation, EngineOptions& options);

// Adds to memory plans: drafters for each of the workload's sessions, the logits of drafts, and a history of `history_bytes` bytes.
// REQUIRES: the registry knows the list, and the workload's sessions are set.
void PlanDrafting(const std::string& drafters, int64_t history_bytes, EngineOptions& options,
                  const DrafterRegistry& registry = DrafterRegistry::BuiltIn());

// The speculation of one or several series of sequences. Each sequence begins anew.
class Speculation {
 public:
  // Creates the speculation. Returns null if nothing is drafted or kept. clock: as in Speculator::Options; must outlive the speculation.
  // Errors: the errors of the history and cost files. REQUIRES: PlanSpeculation was OK.
  static absl::StatusOr<std::unique_ptr<Speculation>> Create(const Engine& engine, const SpeculationOptions& options,
                                                             const Clock& clock = RealClock());

  Speculator& speculator() { return *speculators_[0]; }
  double measure_seconds() const;   // See GenerateOptions.
  SpeculationReport report() const;         // The sum over all sequences.
  CostProfile& costs() { return costs_; }   // All speculators use these costs.

  // Returns a speculator for one of several sequences that run at once: a speculator of an earlier sequence, or a new one. The sequence
  // keeps the speculator until GiveBack. A new speculator may fail with an error of a drafter's maker. REQUIRES: speculator() is not used
  // meanwhile.
  absl::StatusOr<Speculator*> Take();
  void GiveBack(Speculator* speculator);

  // Returns a shared history for GenerateOptions::siblings of each sequence of a set. The sequences draft from this history while they run.
  // Null if `speculate` has no drafter for sets. Sets share a room of SharedHistory::UsualRoom tokens, which PlanSpeculation counts. A set
  // without a sequence so far uses no room.
  std::shared_ptr<SharedHistory> NewSet() const;

  // Sets `speculator` and the draft options (pruning, draft rule) in `text`. REQUIRES: `speculator` belongs to this object.
  void Equip(Speculator& speculator, GenerateOptions& text) const;

  const HistoryStore* history() const { return history_.get(); }   // Null: none.

  // Adds an answer to the history, unless the answer was cancelled. A failed sequence has no Generation, and needs no Finish.
  void Finish(absl::Span<const TokenId> prompt, const Generation& generation);
  // Writes the history. Also writes a cost profile that did not exist before, with the yield of each drafter, unless no pass was measured.
  absl::Status Save() const;
  bool lacks_costs() const { return !costs_path_.empty() && !costs_.KnowsPlain(); }   // Save has no cost profile to write.

 private:
  Speculation() = default;
  absl::Status OpenHistory(const Engine& engine, const SpeculationOptions& options);
  absl::Status ReadCosts(const std::string& path);
  absl::Status MakeSpeculator();

  std::shared_ptr<HistoryStore> history_;          // Null: none.
  std::string costs_path_;                         // To be written by Save; empty: none.
  CostProfile costs_;
  std::function<absl::StatusOr<std::vector<std::unique_ptr<Drafter>>>()> make_drafters_;
  Speculator::Options speculator_options_;
  Pruning prune_;
  DraftRule rule_ = DraftRule::kMatch;
  std::vector<std::unique_ptr<Speculator>> speculators_;   // At least one.
  std::vector<Speculator*> free_;                          // Speculators that no sequence has.
  std::shared_ptr<SharedHistory::Room> sets_room_;         // Null: no drafter reads the sequences of a set.
};

// Writes {"passes", "tokens", "rows", "tokens_per_pass", "gain", "predicted_gain", "predicted_tokens", "seconds", "predicted_seconds",
// "head_rows", "forecast_rows", "prompt_tokens", "prompt_tokens_learnt_from", "paused_passes", "pauses", "drafters": [{"name", ...}]}. A
// drafter that settles on something has "choice". "gain" is null if no step without a draft was measured.
void WriteSpeculation(JsonWriter& json, const SpeculationReport& report);

// Writes SpeculationReport::Gain, or null.
void WriteGain(JsonWriter& json, const SpeculationReport& report);

}  // namespace tessera
