// The engines of tessera_lever: a target, a draft in memory next to the target, and a second target that pins weights instead of the draft.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<LeverModels> models, LeverModels::Load({.target = options, .draft_model = "draft.gguf"}));
//   ASSIGN_OR_RETURN(LeverFindings findings, MeasureLever(models->engines(), lever_options));
//   findings.memory = models->memory();
//
// All engines share one set of threads. The draft is loaded first. So a memory budget of the target counts the draft as memory that the
// process already has; the draft's memory that is still to be used, such as its cache, is planned as drafting. Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/draft/model_expander.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/plan/pass_speeds.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/speculation/draft_choice.h"

namespace tessera {

class LeverModels {
 public:
  struct Options {
    EngineOptions target = {};      // REQUIRES: its context is set.
    std::string draft_model = {};   // As --draft_model has it: a file, self:q3 or self:q3:FILE. Empty: there is none.
    std::vector<std::string> predictors = {};   // Files of exit predictors, for the target.
    double ring_share = 0;          // Above 0: a budget that leaves this share of the weights' bytes to the ring, or the least that works,
                                    // and pins nothing.
    double weights_share = 0;       // Above 0: a budget that would have room for this share of the weights if there were no draft, or the
                                    // least that works with it.
    bool drafts = true;             // Memory of the target is planned for drafts,
    bool retrieval = true;          // and for drafters that read the text.
    bool pins_draft = false;        // The second target is wanted. REQUIRES: a draft, and a target that is streamed.
    bool pins_retrieve = false;     // Its memory is planned for drafters that read the text, too.
    bool chooses = false;           // It is to be predicted which of the two targets is faster. REQUIRES: pins_draft.
  };
  // A copy that is not there is made, before memory of the target is planned. WrongUsage (draft_model, model, prune) for a draft of another
  // vocabulary, that is no model or that cannot be opened, for a predictor of another model, and where a ring is asked for of a model that
  // is not packed; the errors of loading.
  static absl::StatusOr<std::unique_ptr<LeverModels>> Load(const Options& options);

  LeverEngines engines();   // Their predictors are at those places that options have them.
  LeverMemory memory() const;
  // As options say. nullopt: they do not, or the flash's speed is not known.
  const std::optional<DraftChoice>& choice() const { return choice_; }

 private:
  LeverModels(const Options& options, int threads);
  absl::StatusOr<std::string> DraftPath();
  absl::Status LoadDraft();
  absl::StatusOr<int64_t> PredictorBytes() const;   // What they will take.
  absl::Status LoadTarget();
  absl::Status LoadPredictors();
  absl::Status LoadPinned();
  absl::Status Choose();

  Options options_;
  ThreadPool pool_;
  int64_t draft_rest_ = 0;              // Bytes that the draft will take, but has not touched yet.
  int64_t own_before_target_ = 0;       // The process's.
  std::shared_ptr<Engine> draft_;
  std::unique_ptr<Engine> target_, pinned_;
  std::vector<ExitPredictor> predictors_;   // The target's.
  BudgetPlan plan_ = {};                // The target's, and speeds that were measured before its weights were loaded: if it chooses.
  PassSpeeds speeds_ = {};
  std::optional<DraftChoice> choice_;
  CostProfile draft_costs_;
  std::unique_ptr<ModelExpander> expander_;
};

}  // namespace tessera
