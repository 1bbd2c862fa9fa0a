// The engines of tessera_lever: a target, a draft in memory next to the target, and a second target that pins weights instead of the draft.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<LeverModels> models, LeverModels::Load({.target = options, .draft_model = "draft.gguf"}));
//   ASSIGN_OR_RETURN(LeverFindings findings, MeasureLever(models->engines(), lever_options));
//   findings.memory = models->memory();
//
// All engines share one set of threads. The draft is loaded first. So a memory budget of the target counts the draft as memory that the
// process already has. The rest of the draft's memory, such as the cache that is not used yet, is planned as drafting. Threads: one at a
// time.
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
    EngineOptions target = {};      // REQUIRES: the context is set.
    std::string draft_model = {};   // The value of --draft_model: a file, self:q3 or self:q3:FILE. Empty: no draft.
    std::vector<std::string> predictors = {};   // Files of exit predictors, for the target.
    // Above 0: a budget that leaves this share of the weights' bytes to the ring, or the least possible budget, and pins nothing.
    double ring_share = 0;
    // Above 0: a budget that would have room for this share of the weights without a draft, or the least possible budget with the draft.
    double weights_share = 0;
    bool drafts = true;             // Memory of the target is planned for drafts,
    bool retrieval = true;          // and for drafters that read the sequence.
    bool pins_draft = false;        // Loads the second target. REQUIRES: a draft, and a target that is streamed.
    bool pins_retrieve = false;     // The second target's memory is planned for drafters that read the sequence, too.
    bool chooses = false;           // Predicts which of the two targets is faster. REQUIRES: pins_draft.
  };
  // Loads the engines. Makes a missing low-bit copy of the draft before the target's memory is planned. WrongUsage (draft_model) for a
  // draft of another vocabulary, or a draft that is no model or cannot be opened. WrongUsage (prune) for a predictor of another model.
  // WrongUsage (model) for a ring or a share of the weights with a model that is not packed. Also the errors of loading.
  static absl::StatusOr<std::unique_ptr<LeverModels>> Load(const Options& options);

  LeverEngines engines();   // Predictors are in the order of the options.
  LeverMemory memory() const;
  // Returns the prediction. nullopt: `chooses` is false, or the flash's speed is not known.
  const std::optional<DraftChoice>& choice() const { return choice_; }

 private:
  LeverModels(const Options& options, int threads);
  absl::StatusOr<std::string> DraftPath();
  absl::Status LoadDraft();
  absl::StatusOr<int64_t> PredictorBytes() const;   // Memory that the predictors will take.
  absl::Status LoadTarget();
  absl::Status LoadPredictors();
  absl::Status LoadPinned();
  absl::Status Choose();

  Options options_;
  ThreadPool pool_;
  int64_t draft_rest_ = 0;              // Bytes that the draft will take, but has not touched yet.
  int64_t own_before_target_ = 0;       // The process's memory before the target was opened.
  std::shared_ptr<Engine> draft_;
  std::unique_ptr<Engine> target_, pinned_;
  std::vector<ExitPredictor> predictors_;   // The target's.
  // If `chooses`: the target's plan, and speeds that were measured before the target's weights were loaded.
  BudgetPlan plan_ = {};
  PassSpeeds speeds_ = {};
  std::optional<DraftChoice> choice_;
  CostProfile draft_costs_;
  std::unique_ptr<ModelExpander> expander_;
};

}  // namespace tessera
