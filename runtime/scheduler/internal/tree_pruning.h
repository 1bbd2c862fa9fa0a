// Prunes the drafts of a pass half-way through the layers, for those streams that have a predictor and where it pays
// (spec/policies/prune_gate.h).
//
//   TreePruning pruning(core, clock);                             // for all passes: its memory stays
//   ASSIGN_OR_RETURN(Pass walk, core.Begin(rows, cancel));
//   RETURN_IF_ERROR(pruning.Run(plan, members, costs, walk));     // walks to the layers of predictors, if any
//   if (pruning.dropped() > 0) ...                                // fewer rows may get logits
//   LearnStep(pruning.Learnt(plan.shape()), ...);                 // without pruning.seconds()
//
// A pass that no stream has a predictor for is not touched, and no clock is read. Threads: those of the core.
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

class TreePruning {
 public:
  // Both must outlive it.
  TreePruning(EngineCore& core, const StepClock& clock) : core_(core), clock_(clock) {}

  // members: one per part of the plan, whose rows are the pass's. costs: null: nothing is known, so nothing pays. listening: is told of
  // layers on the way; BeginPass comes before. Errors are those of the pass, and of the predictors' source.
  absl::Status Run(const StepPlan& plan, absl::Span<const PassLogits::Member> members, const CostProfile* costs,
                   absl::Span<const ListeningRows> listening, Pass& walk);

  // In the last Run: rows that went, and what finding them took.
  int dropped() const { return dropped_; }
  double seconds() const { return seconds_; }
  // What costs learn of a pass of this shape: the rows that it had on the average of its layers.
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
  std::vector<int> rows_;       // That go at a layer.
  int dropped_ = 0;
  double seconds_ = 0;
  double spared_ = 0;           // Rows, times the share of layers that they were spared.
};

}  // namespace tessera
