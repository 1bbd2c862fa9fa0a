// A second model that drafts, a head, or forecasts by which the model drafts for itself: --draft_model and --tree; how drafts are pruned
// and accepted: --prune and --accept.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModel::OfFlags(FLAGS_speculate));    // null without --draft_model
//   RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(draft), options));      // --speculate may name "draft", "auto" has it
//   if (draft != nullptr) draft->CountIn(options);                             // memory plans of the target include all of it
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
//   if (draft != nullptr) RETURN_IF_ERROR(draft->Open(*engine));               // its weights are loaded by the first drafter
//   RETURN_IF_ERROR(engine->LoadWeights());
//   if (draft != nullptr) RETURN_IF_ERROR(draft->LoadPredictor());             // then draft->pruning() has it
//
// The draft is an engine of its own, on the target's threads, on the fast path whatever the target's. Its context is the target's, or as
// many tokens as it was trained for: a longer text goes on without it. Its cache has as many tokens as the target's, and 256 for the tree
// of each text; texts that share a beginning in the target's cache each have their own here, so with --answers of a long prompt the last
// ones may find no room, and are written without a draft. All texts share weights, cache and costs; each has its own expander. A draft
// head (EAGLE-3) is no engine: it reads what the target's layers say, and each text has a memory of its own.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/draft/draft_source.h"
#include "tessera/runtime/draft/forecast_draft.h"
#include "tessera/runtime/draft/low_bit_copy.h"
#include "tessera/model/eagle_head.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/rejection.h"

namespace tessera {

// What a draft takes, in bytes, beside what each text keeps.
struct DraftBytes {
  int64_t weights = 0;       // A model's.
  int64_t cache = 0;         // Its keys and values.
  int64_t scratch = 0;       // For its graphs, and between blocks.
  int64_t head = 0;          // A draft head's weights and tables, or forecasts' numbers.
  int64_t exit_map = 0;      // self:layers=N,head=FILE.
  int64_t vocabulary = 0;    // Tokenizer and metadata.
  int64_t predictor = 0;     // --prune.
  int64_t Total() const { return weights + cache + scratch + head + exit_map + vocabulary + predictor; }
};

class DraftModel : public std::enable_shared_from_this<DraftModel> {
 public:
  // Checks the flags, and reads no file but the header of one with forecasts. speculate: the list that counts. Null without --draft_model.
  // The errors of CheckDraftFlags and DraftSource::Parse. chooses: with the list "auto" the program may go on without it (draft_or_pins.h).
  static absl::StatusOr<std::shared_ptr<DraftModel>> OfFlags(absl::string_view speculate, bool chooses = false);

  // Makes memory plans of the target include this model: weights, cache, scratch, vocabulary. It may be open then or later. Slots of the
  // prefix of forecasts are reserved in the target's cache.
  void CountIn(EngineOptions& target) const;

  // Opens the model beside an open target, whose core it keeps, and learns what it takes. A copy that is not there is made, one that is
  // broken is made again (a warning says why). Says if its context is shorter. Errors: those of opening a model, a head, or the file of
  // --prune (WrongUsage (prune) if that leads nowhere or is of another kind); of CheckSameVocabulary; WrongUsage for too many layers;
  // ResourceExhausted (draft_model) if a copy is to be made under a memory budget that has no room for that. REQUIRES: called once.
  absl::Status Open(const Engine& target);
  // The same for a dry run, which makes no copy: of one that is not there only the size is known. vocabulary: bytes of the target's
  // tokenizer and metadata, of which the copy has its own.
  absl::Status Plan(const Engine& target, int64_t vocabulary);

  // Whether the run may go on without it: it chooses, and --speculate is auto. A list that names "draft" gets it, and forecasts, which
  // take next to nothing, stay.
  bool may_be_left_out() const { return may_be_left_out_; }
  // A plan of the target's budget as if there were no draft. REQUIRES: CountIn, and Open or Plan were called.
  absl::StatusOr<BudgetPlan> PlanWithoutIt(const Engine& target) const;
  // Closes it, and plans count no more than what stays with the process. No drafter may be made any more. REQUIRES: as PlanWithoutIt;
  // none was made.
  void LeaveOut();

  // "draft", for SpeculationOptions::own_drafters and registries. The first that is made loads the weights, and makes a copy again that
  // turns out to be damaged. REQUIRES: Open was OK before one is made.
  DrafterRegistry::Kind AsDrafter();

  // Reads the predictor of --prune, if there is one, once. WrongUsage (prune) for one of another model. REQUIRES: Open was OK, and the
  // target's weights are loaded.
  absl::Status LoadPredictor();
  // What the flags say of all drafts; the predictor is null before it is loaded. This must outlive the texts.
  Pruning pruning() const;
  DraftRule rule() const { return sampling_.has_value() ? DraftRule::kRejection : DraftRule::kMatch; }

  // After Open or Plan.
  int64_t bytes() const { return counted_->bytes(); }   // All that is counted, but for what texts keep.
  const DraftBytes& parts() const { return counted_->parts; }
  int64_t tree_bytes() const;                 // What all texts keep: trees, their candidates and logits, of a head its memory of the text.
  std::string drafter_name() const;           // In reports and cost profiles.
  bool has_forecasts() const { return forecasts_ != nullptr; }   // No weights of its own.
  const Engine* engine() const { return engine_.get(); }   // Null: a head, or a copy that is not there.
  std::string Describe() const;               // "draft.gguf, context 8192 tokens".
  // A line for --stats: "draft model: draft.gguf, 124 passes over 380 tokens\n"; of a head its size. Empty before a drafter was made.
  std::string StatsLine() const;
  // An error of the target's memory plan, with what this takes of it; others as they are.
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

  DraftModel() = default;
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

  DraftSource source_;
  std::string tree_;
  std::string prune_;                         // The predictor's file; empty: none.
  float threshold_ = 0;
  std::optional<DraftSampling> sampling_;     // How drafts are drawn that are accepted by rejection.
  uint64_t seed_ = 0;
  bool may_be_left_out_ = false;
  std::shared_ptr<EngineCore> target_;        // Its threads compute, so it goes last.
  std::optional<int64_t> own_before_;         // Memory of the process before this was opened.
  std::string path_;
  int context_ = 0;
  const std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
  std::optional<ExitPredictor> predictor_;
  std::shared_ptr<const EagleHead> head_;     // Then there is no engine,
  std::unique_ptr<ForecastDraft> forecasts_;  // nor with these.
  std::shared_ptr<Engine> engine_;
  std::optional<absl::Status> loaded_;        // Once it was tried.
  CostProfile costs_;                         // What its passes take.
  uint64_t drafters_ = 0;                     // That were made.
};

// draft->Explained(status), or the status without a draft.
absl::Status ExplainedBy(const DraftModel* draft, const absl::Status& status);

}  // namespace tessera
