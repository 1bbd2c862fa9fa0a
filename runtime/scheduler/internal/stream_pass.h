// Runs one pass for streams: places rows, computes the rows, gives logits in rounds, and has each stream keep its accepted tokens.
//
//   StreamPass pass(core, clock);                                 // for all passes: its memory stays
//   const StepPlan plan = PlanStep(core, streams, costs, {});     // step_plan.h; then room is made in the cache
//   RETURN_IF_ERROR(pass.Run(plan, streams, &costs, cancel, hold));
//   pass.chosen(0);                                               // the error of the plan's first stream alone, or OK
//
// The measured cost of the pass is learnt once for all streams. Each stream is charged the cost that the stream adds, by the cost profile.
// Drafts may be pruned half-way (tree_pruning.h).
//
// Threads: as the core, which is held, except while streams are given logits (pass_logits.h).
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

// Runs passes for streams of one engine.
class StreamPass {
 public:
  // Both arguments must outlive the object.
  StreamPass(EngineCore& core, const Clock& clock)
      : core_(core), clock_(core.model().timed_streamer(), clock), pruning_(core, clock_), logits_(core) {}
  StreamPass(const StreamPass&) = delete;
  StreamPass& operator=(const StreamPass&) = delete;

  // Runs the plan's pass. Returns the error of the pass; each stream is then as before the pass, or has the tokens chosen so far. If the
  // core's health is not OK, returns the health, and the streams allow no call except Abandon. costs: null: nothing is learnt. cancel: may
  // be null. REQUIRES: room was made in the cache for the plan, and `hold` holds the core.
  absl::Status Run(const StepPlan& plan, absl::Span<Stream* const> streams, CostProfile* costs, const std::atomic<bool>* cancel,
                   EngineCore::Hold& hold);

  // Returns the error of choosing tokens for a part of the last plan, or OK.
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
  std::vector<ListeningRows> listening_;      // Rows of streams that have a listener.
  std::vector<int> wanted_;                   // Rows that may get logits.
  std::vector<PassLogits::Member> members_;   // One per part of the plan.
};

}  // namespace tessera
