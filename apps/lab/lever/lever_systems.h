// The ways to write a text that tessera_lever compares: plain decoding, trees of one draft by several rules, drafts from the text
// itself, and both together. All of them are a Speculator's work on one code path; they differ in what is drafted.
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
  std::string system = {};    // A name of those above.
  std::string variant = {};   // With options: "edgellm:threshold=0.2". The name alone where none are given.
  std::string tree = {};      // For MakeTreePolicy. Empty: no draft model.
  bool retrieval = false;     // Drafters that read the text.
  bool pins_draft = false;    // Written by the engine with more pins.
  bool chooses = false;       // Whether it has a draft or more pins, ResolveAuto says.
  bool prunes = false;        // Its drafts are pruned by a predictor,
  int predictor = 0;          // LeverEngines::predictors has it here,
  PruneOptions rule = {};     // and by this rule.
  bool always_prunes = false; // Whether that saves time or not.

  bool drafts() const { return !tree.empty() || retrieval; }
};

// systems: names separated by commas, or "all"; those that prune are among all with `prunes`. sweep: trees separated by semicolons, each of
// a system with a tree among them; all of one system's stand in its place. Empty: none. WrongUsage (systems or sweep; found, expected) for
// what is neither, or is there twice.
absl::StatusOr<std::vector<LeverSpec>> LeverSpecs(const std::string& systems, const std::string& sweep, bool prunes = false);

// Makes "auto" what it is here: with the draft, or with more pins.
void ResolveAuto(bool drafts, std::vector<LeverSpec>& specs);

class LeverSystem {
 public:
  // draft: all systems may share it, since one text is written at a time, and none finds in its cache what another left; it must outlive
  // this. Null where the spec has no tree. predictor: likewise; null where the spec does not prune. Errors: those of drafters' makers.
  static absl::StatusOr<std::unique_ptr<LeverSystem>> Create(const LeverSpec& spec, const Engine& target, Expander* draft,
                                                             const ExitPredictor* predictor = nullptr);

  Speculator* speculator() { return speculator_.get(); }   // Null: plain decoding.
  const Pruning& pruning() const { return pruning_; }
  const ReliabilityTable* table() const;                   // The draft's guesses. Null: no draft model.

 private:
  LeverSystem() = default;

  CostProfile costs_;                                      // Learnt from this system's passes alone.
  Pruning pruning_;
  const ExpandingDrafter* draft_ = nullptr;                // The speculator's.
  std::unique_ptr<Speculator> speculator_;
};

}  // namespace tessera
