// A second model that drafts, or a head: --draft_model and --tree; how its drafts are pruned and accepted: --prune and --accept.
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
#include "tessera/apps/cli/low_bit_copy.h"
#include "tessera/model/eagle_head.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/engine.h"
#include "tessera/runtime/generation.h"
#include "tessera/spec/cost_profile.h"
#include "tessera/spec/drafter_registry.h"
#include "tessera/spec/expander.h"
#include "tessera/spec/rejection.h"

namespace tessera {

inline constexpr char kDraft[] = "draft";   // Its name in --speculate.

// What --draft_model means: FILE, self:NAME, self:NAME:FILE, self:layers=N or self:layers=N,head=FILE.
struct DraftSource {
  std::string file = {};   // Empty: that of --model.
  std::string copy = {};   // One of LowBitCopy::Names(): a copy of the file. Empty: the file itself.
  int layers = 0;          // So many of the first layers of --model; 0: all of the file.
  std::string map = {};    // With layers: a map before the norm (model/exit_map.h). Empty: none.

  // WrongUsage (draft_model) for a copy of another name, or of no file, and for layers that are no number above 0.
  static absl::StatusOr<DraftSource> Parse(absl::string_view text);
  // The file is a folder, or its name ends with .safetensors: a draft head (model/eagle_head.h), no model.
  bool IsHead() const;
};

// --tree, or "lever" without it.
std::string TreeOfFlag();
// Whether a list of --speculate asks for drafts by a model: "auto", or one that names "draft".
bool AsksForDraftModel(absl::string_view speculate);
// Whether one of its drafters reads a history.
bool ReadsHistory(absl::string_view speculate);
// "draft" where only its name counts: it cannot be made.
DrafterRegistry::Kind NamedDraft();

class DraftModel : public std::enable_shared_from_this<DraftModel> {
 public:
  // Checks the flags, and reads no file. speculate: the list that counts. Null without --draft_model. WrongUsage if one of the flags has
  // nothing to do: "draft" without a model, a model that nobody asks for, a tree, --prune or --accept=rejection without a model, the latter
  // at temperature 0; for a source or a tree that is none, a threshold out of range; with --device, whose clock knows no second model.
  static absl::StatusOr<std::shared_ptr<DraftModel>> OfFlags(absl::string_view speculate);

  // Makes memory plans of the target include this model: weights, cache, scratch, vocabulary. It may be open then or later.
  void CountIn(EngineOptions& target) const;

  // Opens the model beside an open target, whose core it keeps, and learns what it takes. A copy that is not there is made, one that is
  // broken is made again (a warning says why). Says if its context is shorter. Errors: those of opening a model, a head, or the file of
  // --prune (WrongUsage (prune) if that leads nowhere or is of another kind); of CheckSameVocabulary; WrongUsage for too many layers;
  // ResourceExhausted (draft_model) if a copy is to be made under a memory budget that has no room for that. REQUIRES: called once.
  absl::Status Open(const Engine& target);
  // The same for a dry run, which makes no copy: of one that is not there only the size is known.
  absl::Status Plan(const Engine& target);

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
  int64_t bytes() const { return *bytes_; }   // All that is counted.
  std::string Describe() const;               // "draft.gguf, context 8192 tokens".
  // A line for --stats: "draft model: draft.gguf, 124 passes over 380 tokens\n"; of a head its size. Empty before a drafter was made.
  std::string StatsLine() const;
  // An error of the target's memory plan, with what this takes of it; others as they are.
  absl::Status Explained(const absl::Status& status) const;

 private:
  DraftModel() = default;
  absl::StatusOr<LowBitCopy> CopyFor() const;
  absl::Status CheckRoomToCopy() const;
  absl::Status PrepareCopy();                 // It is there afterwards.
  absl::Status Begin(const Engine& target);
  absl::Status SizePredictor();
  int CacheTokens() const;
  EngineOptions OptionsFor(const ModelConfig& config);
  absl::Status OpenFile();
  absl::Status OpenHead();
  absl::Status OpenModel();
  int HeadTokens() const;                     // That a head sees of a text.
  absl::Status PlanCopy(const LowBitCopy& copy);   // One that is not there.
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
  std::shared_ptr<EngineCore> target_;        // Its threads compute, so it goes last.
  std::optional<int64_t> own_before_;         // Memory of the process before this was opened.
  std::string path_;
  int context_ = 0;
  const std::shared_ptr<int64_t> bytes_ = std::make_shared<int64_t>(0), text_bytes_ = std::make_shared<int64_t>(0);   // A head's text.
  int64_t predictor_bytes_ = 0;
  std::optional<ExitPredictor> predictor_;
  std::shared_ptr<const EagleHead> head_;     // Then there is no engine.
  std::shared_ptr<Engine> engine_;
  std::optional<absl::Status> loaded_;        // Once it was tried.
  CostProfile costs_;                         // What its passes take.
  uint64_t drafters_ = 0;                     // That were made.
};

// draft->Explained(status), or the status without a draft.
absl::Status ExplainedBy(const DraftModel* draft, const absl::Status& status);

}  // namespace tessera
