// A second model that drafts, a draft head, or forecasts by which the model drafts for itself; how drafts are pruned and accepted.
//
//   const DraftModelOptions asked = {.draft_model = {.file = "draft.gguf"}};
//   ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModel::Create(asked));    // null where the options name no draft
//   SpeculationOptions speculation = {.own_drafters = {draft->AsDrafter()}};                 // the list may name "draft", "auto" has it
//   RETURN_IF_ERROR(PlanSpeculation(speculation, options));
//   draft->CountIn(options);                                               // memory plans of the target include all of the draft
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
//   RETURN_IF_ERROR(draft->Open(*engine));                                 // the first drafter loads the draft's weights
//   RETURN_IF_ERROR(engine->LoadWeights());
//   RETURN_IF_ERROR(draft->LoadPredictor());                               // then draft->pruning() has the predictor
//   speculation.prune = draft->pruning(), speculation.rule = draft->rule();
//
// The draft is an engine of its own, on the target's threads, on the fast path whatever the target's path is. Its context is the target's,
// or the number of tokens for which the draft was trained: a longer text goes on without the draft. Its cache has as many tokens as the
// target's, and 256 for the tree of each text. Texts that share a beginning in the target's cache each have a beginning of their own here.
// The last of many answers to a long prompt may therefore find no room, and are written without a draft. All texts share weights, cache and
// costs; each text has its own expander. A draft head (EAGLE-3) is no engine: it reads hidden states of the target's layers, and each text
// has a memory of its own.
//
// Threads: one at a time. Errors: wrong usage names the field of the options (base/usage_error.h); other errors name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/runtime/draft/draft_options.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/rejection.h"

namespace tessera {

class EagleHead;
class ExitPredictor;
class ForecastDraft;

// What a draft takes, in bytes, without what each text keeps.
struct DraftBytes {
  int64_t weights = 0;       // A model's.
  int64_t cache = 0;         // Its keys and values.
  int64_t scratch = 0;       // For its graphs, and between blocks.
  int64_t head = 0;          // A draft head's weights and tables, or forecasts' numbers.
  int64_t exit_map = 0;      // DraftSource::map.
  int64_t vocabulary = 0;    // Tokenizer and metadata.
  int64_t predictor = 0;     // DraftModelOptions::prune.
  int64_t Total() const { return weights + cache + scratch + head + exit_map + vocabulary + predictor; }
};

class DraftModel : public std::enable_shared_from_this<DraftModel> {
 public:
  // Checks the options, and reads no file but the header of one with forecasts. Null without a draft model. The errors of
  // CheckDraftOptions.
  static absl::StatusOr<std::shared_ptr<DraftModel>> Create(const DraftModelOptions& options);
  ~DraftModel();

  // Makes memory plans of the target include this model: weights, cache, scratch, vocabulary. It may be open then or later. Slots of the
  // prefix of forecasts are reserved in the target's cache.
  void CountIn(EngineOptions& target) const;

  // Opens the model with an open target, whose core it keeps, and learns the memory that the model takes. A copy that is not there is made.
  // A broken copy is made again, with a warning. A note says if the draft's context is shorter. Errors: the errors of opening a model, a
  // head, or the file of `prune` (WrongUsage (prune) if the path leads nowhere or to a file of another kind); of CheckSameVocabulary;
  // WrongUsage for too many layers; ResourceExhausted (draft_model) if a copy is to be made under a memory budget that has no room for the
  // making. REQUIRES: called once.
  absl::Status Open(const Engine& target);
  // Does the same for a dry run, which makes no copy: of a copy that is not there only the size is known. vocabulary: bytes of the target's
  // tokenizer and metadata, of which the copy has its own.
  absl::Status Plan(const Engine& target, int64_t vocabulary);

  // Returns whether the run may go on without the draft: the options allow it, and the list is "auto". A list that names "draft" gets it,
  // and forecasts, which take next to nothing, stay.
  bool may_be_left_out() const { return may_be_left_out_; }
  // Returns a plan of the target's budget as if there were no draft. REQUIRES: CountIn, and Open or Plan were called.
  absl::StatusOr<BudgetPlan> PlanWithoutIt(const Engine& target) const;
  // Closes the draft. Plans then count no more than the memory that stays with the process. No drafter may be made any more. REQUIRES: as
  // PlanWithoutIt; no drafter was made.
  void LeaveOut();

  // Returns "draft", for SpeculationOptions::own_drafters and registries. The first drafter that is made loads the weights, and makes a
  // copy again that turns out to be damaged. REQUIRES: Open was OK before a drafter is made.
  DrafterRegistry::Kind AsDrafter();

  // Reads the predictor of `prune`, if there is one, once. WrongUsage (prune) for the predictor of another model. REQUIRES: Open was OK,
  // and the target's weights are loaded.
  absl::Status LoadPredictor();
  // Returns how rows of all drafts are pruned; the predictor is null before it is loaded. This must outlive the texts.
  Pruning pruning() const;
  DraftRule rule() const { return sampling_.has_value() ? DraftRule::kRejection : DraftRule::kMatch; }

  // The following need Open or Plan.
  int64_t bytes() const { return counted_->bytes(); }   // All that is counted, without what texts keep.
  const DraftBytes& parts() const { return counted_->parts; }
  int64_t tree_bytes() const;                 // What all texts keep: trees, candidates and logits; of a head its memory of the text.
  std::string drafter_name() const;           // In reports and cost profiles.
  bool has_forecasts() const { return forecasts_ != nullptr; }   // No weights of its own.
  const Engine* engine() const { return engine_.get(); }   // Null: a head, or a copy that is not there.
  std::string Describe() const;               // "draft.gguf, context 8192 tokens".
  // Returns a line for statistics: "draft model: draft.gguf, 124 passes over 380 tokens\n"; of a head its size. Empty before a drafter was
  // made.
  std::string StatsLine() const;
  // Returns an error of the target's memory plan with the draft's part of it; other errors as they are.
  absl::Status Explained(const absl::Status& status) const;

 private:
  // Shared with the target's memory plans.
  struct Counted {
    DraftBytes parts = {};
    int64_t head_text = 0;                    // What a head keeps of a text, or forecasts for it; 0: it is a model.
    int64_t remains = 0;                      // What stays of it once it is left out.
    bool left_out = false;
    int64_t bytes() const { return left_out ? remains : parts.Total(); }
    int64_t OfText(const DraftingSize& size) const;
  };

  explicit DraftModel(const DraftModelOptions& options);
  absl::StatusOr<LowBitCopy> CopyFor() const;
  absl::Status CheckRoomToCopy() const;
  absl::Status PrepareCopy();                 // It is there afterwards.
  absl::Status Begin(const Engine& target);
  absl::Status DrawAsTarget();
  absl::Status SizePredictor();
  int CacheTokens() const;
  EngineOptions OptionsFor(const ModelConfig& config);
  absl::Status OpenFile();
  absl::Status OpenHead();
  absl::Status OpenForecasts();
  absl::Status OpenModel();
  int HeadTokens() const;                     // That a head sees of a text.
  absl::Status PlanCopy(const LowBitCopy& copy, int64_t vocabulary);   // One that is not there.
  absl::Status LoadWeights();
  absl::Status Load();
  absl::StatusOr<std::unique_ptr<Expander>> NewExpander(int vocabulary);
  absl::StatusOr<std::unique_ptr<Drafter>> NewDrafter(const DraftingSize& size);

  const DraftModelOptions options_;
  const std::string tree_;
  std::optional<DraftSampling> sampling_;     // How drafts are drawn that are accepted by rejection.
  bool may_be_left_out_ = false;
  std::shared_ptr<EngineCore> target_;        // Its threads compute, so it goes last.
  std::optional<int64_t> own_before_;         // Memory of the process before this was opened.
  std::string path_;
  int context_ = 0;
  const std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
  std::unique_ptr<ExitPredictor> predictor_;  // Null: not loaded.
  std::shared_ptr<const EagleHead> head_;     // Then there is no engine,
  std::unique_ptr<ForecastDraft> forecasts_;  // nor with these.
  std::shared_ptr<Engine> engine_;
  std::optional<absl::Status> loaded_;        // Once it was tried.
  CostProfile costs_;                         // What its passes take.
  uint64_t drafters_ = 0;                     // That were made.
};

// Returns draft->Explained(status), or the status without a draft.
absl::Status ExplainedBy(const DraftModel* draft, const absl::Status& status);

}  // namespace tessera
