// Sets up what drafts texts for passes to check: drafters, a history of answers, costs of passes; and keeps these for later runs.
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
// Texts that are written at once draft apart, with one history and one table of costs:
//
//   ASSIGN_OR_RETURN(Speculator* const speculator, drafts->Take());           // one that no other text has
//   ... StreamOptions with it, StepperOptions::costs = &drafts->costs() ...
//   drafts->GiveBack(speculator);                                             // the text has ended
//
// Where SpeculationOptions::siblings is true, samples of one problem draft from each other:
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

struct SpeculationOptions {
  std::string speculate = "auto";      // Drafters, as DrafterRegistry::Make takes them. None with a history: answers are only kept.
  std::string history = {};            // Draft from answers kept under this name, too, and keep new ones; empty: none.
  std::string history_folder = {};     // Where it lies.
  bool history_prompts = false;        // Keep prompts, too.
  std::string cost_profile = {};       // A file with what passes cost. Save writes it if there is none. Empty: learnt in each run.
  // Drafters of the program's own, besides those that are built in: `speculate` may name them, and "auto" has them, too.
  std::vector<DrafterRegistry::Kind> own_drafters = {};
  Pruning prune = {};                  // For all drafts. PlanSpeculation does not count the predictor.
  DraftRule rule = DraftRule::kMatch;  // For drafters that sample.
  // Texts may be written in sets (Speculation::NewSet): "auto" then has the drafter "siblings", too, and `speculate` may name it.
  bool siblings = false;
};

// Checks the options, and makes memory plans include what they ask for. WrongUsage names the field.
absl::Status PlanSpeculation(const SpeculationOptions& speculation, EngineOptions& options);

// Makes memory plans include drafters for each of the workload's sessions, the logits of what they draft, and a history of so many bytes.
// REQUIRES: the registry knows the list, and the workload's sessions are set.
void PlanDrafting(const std::string& drafters, int64_t history_bytes, EngineOptions& options,
                  const DrafterRegistry& registry = DrafterRegistry::BuiltIn());

// The speculation of one stream of texts, each of which begins anew, or of several such streams.
class Speculation {
 public:
  // Null if nothing is drafted or kept. REQUIRES: PlanSpeculation was OK. Errors are those of the files of history and costs.
  // clock: as Speculator::Options has it; must outlive the speculation.
  static absl::StatusOr<std::unique_ptr<Speculation>> Create(const Engine& engine, const SpeculationOptions& options,
                                                             const Clock& clock = RealClock());

  Speculator& speculator() { return *speculators_[0]; }
  double measure_seconds() const;   // See GenerateOptions.
  SpeculationReport report() const;         // The sum over all texts.
  CostProfile& costs() { return costs_; }   // All speculators weigh by them.

  // A speculator for a text beside others, which it keeps until it is given back: one that an earlier text had, or a new one. A new one may
  // be an error, that of a drafter's maker. REQUIRES: speculator() is not used beside this.
  absl::StatusOr<Speculator*> Take();
  void GiveBack(Speculator* speculator);

  // What texts that belong together draft from while they are written, for GenerateOptions::siblings of each; null if `speculate` has no
  // drafter for that. Sets share a room of SharedHistory::UsualRoom tokens, which PlanSpeculation counts; one that no text has begun takes
  // nothing.
  std::shared_ptr<SharedHistory> NewSet() const;

  // Gives a text this speculator, which is one of these, and what the options say of drafts.
  void Equip(Speculator& speculator, GenerateOptions& text) const;

  const HistoryStore* history() const { return history_.get(); }   // Null: none.

  // Adds an answer to the history, unless it was cancelled. A text that failed has no Generation, and needs no Finish.
  void Finish(absl::Span<const TokenId> prompt, const Generation& generation);
  // Writes the history, and a cost profile that did not exist before, with what each drafter gave, unless no pass was measured.
  absl::Status Save() const;
  bool lacks_costs() const { return !costs_path_.empty() && !costs_.KnowsPlain(); }   // Save has no cost profile to write.

 private:
  Speculation() = default;
  absl::Status OpenHistory(const Engine& engine, const SpeculationOptions& options);
  absl::Status ReadCosts(const std::string& path);
  absl::Status MakeSpeculator();

  std::shared_ptr<HistoryStore> history_;          // Null: none.
  std::string costs_path_;                         // To be written in the end; empty: no.
  CostProfile costs_;
  std::function<absl::StatusOr<std::vector<std::unique_ptr<Drafter>>>()> make_drafters_;
  Speculator::Options speculator_options_;
  Pruning prune_;
  DraftRule rule_ = DraftRule::kMatch;
  std::vector<std::unique_ptr<Speculator>> speculators_;   // At least one.
  std::vector<Speculator*> free_;                          // Those that no text has.
  std::shared_ptr<SharedHistory::Room> sets_room_;         // Null: no drafter reads what texts of a set write.
};

// {"passes", "tokens", "rows", "tokens_per_pass", "gain", "predicted_gain", "predicted_tokens", "seconds", "predicted_seconds",
// "head_rows", "forecast_rows", "prompt_tokens", "prompt_tokens_learnt_from", "paused_passes", "pauses", "drafters": [{"name", ...}]}; a
// drafter that settles on something has "choice". "gain" is null where no step without draft was measured.
void WriteSpeculation(JsonWriter& json, const SpeculationReport& report);

// SpeculationReport::Gain, or null.
void WriteGain(JsonWriter& json, const SpeculationReport& report);

}  // namespace tessera
