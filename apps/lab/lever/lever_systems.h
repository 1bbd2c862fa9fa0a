// The modes of decoding that tessera_lever compares: plain decoding, trees of one draft by several rules, drafts from the sequence itself,
// and both together. All systems run a Speculator on one code path and differ only in the drafts.
//
//   ASSIGN_OR_RETURN(const std::vector<LeverSpec> specs, LeverSpecs("flash_ar,edgellm,lever", "edgellm:threshold=0.2"));
//   ASSIGN_OR_RETURN(const std::unique_ptr<LeverSystem> system, LeverSystem::Create(specs[2], *engine, expander.get()));
//   Generate(session, sampler, {.max_tokens = 128, .speculator = system->speculator()});
//
//   flash_ar          no draft: each pass reads the weights for one token
//   chain, edgellm, specinfer, opt_tree, sequoia, eagle2
//                     trees of the draft model by published rules (spec/policies/tree_policy.h), verified whole
//   lever             its tree by gain per cost
//   lever_pruned      the same, pruned half-way by an exit predictor (lever_pruning.h makes one of each predictor and rule)
//   lever_pruned_no_shadow, lever_pruned_no_safeguards
//                     the same, with a rule that has neither shadow tokens nor safeguards, respectively
//   retrieval         what the built-in drafters find in the text (--speculate=auto)
//   lever_retrieval   both, as one tree
//   pinned            no draft, and in the draft's memory pinned weights
//   pinned_retrieval  the same, and drafts from the text
//   auto              lever_retrieval or pinned_retrieval, whichever is predicted to be faster (draft_or_pins.h)
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/reliability.h"

namespace tessera {

class ExitPredictor;
class ExpandingDrafter;

struct LeverSpec {
  std::string system = {};    // A name from the list above.
  std::string variant = {};   // With options: "edgellm:threshold=0.2". The name alone if there are no options.
  std::string tree = {};      // For MakeTreePolicy. Empty: no draft model.
  bool retrieval = false;     // Has drafters that read the sequence.
  bool pins_draft = false;    // Runs on the engine with more pins.
  bool chooses = false;       // ResolveAuto decides whether the system has a draft or more pins.
  bool prunes = false;        // A predictor prunes the drafts,
  int predictor = 0;          // at this place of LeverEngines::predictors,
  PruneOptions rule = {};     // by this rule.
  bool always_prunes = false; // Even if pruning saves no time.

  bool drafts() const { return !tree.empty() || retrieval; }
};

// Parses the systems to compare. systems: names separated by commas, or "all"; "all" includes the systems that prune only with `prunes`.
// sweep: trees separated by semicolons; empty: none. Each tree belongs to one of the systems with a tree. A system's trees replace the
// system in the result. WrongUsage (systems or sweep; found, expected) for an unknown name or tree, or one given twice.
absl::StatusOr<std::vector<LeverSpec>> LeverSpecs(const std::string& systems, const std::string& sweep, bool prunes = false);

// Turns "auto" into the system with the draft (`drafts`), or the system with more pins.
void ResolveAuto(bool drafts, std::vector<LeverSpec>& specs);

class LeverSystem {
 public:
  // Creates a system. draft: null if the spec has no tree; must outlive the system. All systems may share the draft: one sequence is
  // decoded at a time, and no system finds another's sequence in the draft's cache. predictor: must outlive the system, may be shared; null
  // if the spec does not prune. Returns the errors of making drafters.
  static absl::StatusOr<std::unique_ptr<LeverSystem>> Create(const LeverSpec& spec, const Engine& target, Expander* draft,
                                                             const ExitPredictor* predictor = nullptr);

  Speculator* speculator() { return speculator_.get(); }   // Null: plain decoding.
  const Pruning& pruning() const { return pruning_; }
  const ReliabilityTable* table() const;                   // The draft's estimates and results. Null: no draft model.

 private:
  LeverSystem() = default;

  CostProfile costs_;                                      // Learnt from this system's passes alone.
  Pruning pruning_;
  const ExpandingDrafter* draft_ = nullptr;                // Owned by the speculator.
  std::unique_ptr<Speculator> speculator_;
};

}  // namespace tessera
