// Prunes the drafts of a pass half-way through the layers, for streams that have a predictor and where pruning pays
// (spec/policies/prune_gate.h).
//
//   TreePruning pruning(core, clock);                             // for all passes: its memory stays
//   ASSIGN_OR_RETURN(Pass walk, core.Begin(rows, cancel));
//   RETURN_IF_ERROR(pruning.Run(plan, members, costs, walk));     // walks to the layers of predictors, if any
//   if (pruning.dropped() > 0) ...                                // fewer rows may get logits
//   LearnStep(pruning.Learnt(plan.shape()), ...);                 // without pruning.seconds()
//
// Without a stream that has a predictor, the pass is not touched and no clock is read.
//
// Threads: as the core.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/model/pass.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/layer_states.h"
#include "tessera/runtime/scheduler/internal/pass_logits.h"
#include "tessera/runtime/scheduler/internal/step_plan.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/runtime/session/step_clock.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// Prunes the drafts of passes.
class TreePruning {
 public:
  // Both arguments must outlive the object.
  TreePruning(EngineCore& core, const StepClock& clock) : core_(core), clock_(clock) {}

  // Prunes the pass `walk`. members: one per part of the plan; the pass holds their rows. costs: null: nothing is known, so nothing pays.
  // listening: told of the layers on the way; the caller calls BeginPass before. Errors: the errors of the pass and of the predictors'
  // source.
  absl::Status Run(const StepPlan& plan, absl::Span<const PassLogits::Member> members, const CostProfile* costs,
                   absl::Span<const ListeningRows> listening, Pass& walk);

  // The last Run: dropped rows, and the seconds to find the rows.
  int dropped() const { return dropped_; }
  double seconds() const { return seconds_; }
  // Returns the shape that costs learn for a pass of shape `shape`: the average number of rows over the layers.
  CostProfile::Shape Learnt(CostProfile::Shape shape) const;

 private:
  struct Due {
    Stream* stream;
    const TokenTree* tree;
    std::vector<CandidateSet> sets = {};
  };
  bool IsWorth(const StepPlan& plan, const StepPart& part, Stream& stream, const TokenTree& tree, const CostProfile* costs) const;
  double UpperShare(int layer) const;
  absl::Status PruneAt(int layer, absl::Span<Due> due, absl::Span<const ListeningRows> listening, Pass& walk);
  absl::Status Score(Due& due, const Pass& walk);

  EngineCore& core_;
  const StepClock& clock_;
  std::vector<Due> due_;        // By layer.
  std::vector<int> rows_;       // Rows to drop at a layer.
  int dropped_ = 0;
  double seconds_ = 0;
  double spared_ = 0;           // Dropped rows, times the share of layers saved.
};

}  // namespace tessera
