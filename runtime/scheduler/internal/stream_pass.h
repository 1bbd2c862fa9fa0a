// One pass for streams: places their rows, computes them, gives logits in rounds, and has each stream keep what came true.
//
//   StreamPass pass(core, clock);                                 // for all passes: its memory stays
//   const StepPlan plan = PlanStep(core, streams, costs, {});     // step_plan.h; then room is made in the cache
//   RETURN_IF_ERROR(pass.Run(plan, streams, &costs, cancel, hold));
//   pass.chosen(0);                                               // the error of the plan's first stream alone, or OK
//
// The pass costs what it took, learnt once for all. Each stream is charged what it adds to that, by the costs. Half-way, drafts may be
// pruned (tree_pruning.h). Threads: those of the core, which is held, but while streams are given logits (pass_logits.h).
#pragma once

#include <atomic>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/layer_states.h"
#include "tessera/runtime/scheduler/internal/pass_logits.h"
#include "tessera/runtime/scheduler/internal/step_plan.h"
#include "tessera/runtime/scheduler/internal/tree_pruning.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/runtime/session/step_clock.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

class StreamPass {
 public:
  // Both must outlive it.
  StreamPass(EngineCore& core, const Clock& clock)
      : core_(core), clock_(core.model().timed_streamer(), clock), pruning_(core, clock_), logits_(core) {}
  StreamPass(const StreamPass&) = delete;
  StreamPass& operator=(const StreamPass&) = delete;

  // The error of the pass, after which each stream is as it was before, or has what was chosen so far; where the core's health is not OK,
  // it is that, and nothing may be done with the streams but Abandon. costs: null: nothing is learnt. cancel: may be null. REQUIRES: room
  // was made in the cache for the plan, and `hold` holds the core.
  absl::Status Run(const StepPlan& plan, absl::Span<Stream* const> streams, CostProfile* costs, const std::atomic<bool>* cancel,
                   EngineCore::Hold& hold);

  // What choosing tokens came to for a part of the last plan.
  const absl::Status& chosen(size_t part) const { return members_[part].status; }

 private:
  absl::Status Place(const StepPlan& plan, absl::Span<Stream* const> streams);
  absl::Status Compute(const StepPlan& plan, const CostProfile* costs, const std::atomic<bool>* cancel, EngineCore::Hold& hold);
  absl::Status Walk(const StepPlan& plan, const CostProfile* costs, Pass& walk);
  void ListWanted();
  void Learn(const StepPlan& plan, CostProfile& costs);
  StepTime TimeOf(const PassLogits::Member& member, double pass_seconds) const;

  EngineCore& core_;
  const StepClock clock_;
  TreePruning pruning_;
  PassLogits logits_;
  double pass_seconds_ = 0;
  std::vector<PassRow> rows_;
  std::vector<ListeningRows> listening_;      // Those of streams that have a listener.
  std::vector<int> wanted_;                   // Rows that may get logits.
  std::vector<PassLogits::Member> members_;   // One per part of the plan.
};

}  // namespace tessera
