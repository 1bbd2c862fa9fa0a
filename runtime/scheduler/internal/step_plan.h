// Which rows a stepper's next pass has: plain rows and drafts of the texts that are being written, with forecasts of those that draft by
// them, then chunks of the prompts of others.
//
//   StepPlan plan = PlanStep(core, streams, costs, {.most_gap = 2});
//   plan.rows();                                          // to be made room for in the cache
//   plan.Shrink(20);                                      // no more rows than these: chunks first, then drafts
//   for (const StepPart& part : plan.parts) ...           // each stream that has rows
//
// Threads: that which drives the streams.
#pragma once

#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/policies/row_policy.h"

namespace tessera {

// One stream's part of a pass: a chunk of its prompt, or what is chosen of its draft.
struct StepPart {
  int stream = 0;             // Its number among those the plan was made for.
  int chunk = 0;              // Tokens; 0: a tree.
  RowChoice choice = {};      // What the tree keeps.
  int rows() const { return chunk > 0 ? chunk : choice.shape().rows; }
};

struct StepPlan {
  std::vector<StepPart> parts = {};
  int rows() const;
  int prompt_rows() const;
  // All trees together: rows, leaves, and how many texts.
  CostProfile::Shape shape() const;
  // Leaves at most `rows` rows, if that takes no more than giving up chunks and drafts; else one row for each text that is being written.
  void Shrink(int rows);
};

struct StepLimits {
  double most_gap = 2;        // StepperOptions::most_gap.
  size_t turn = 0;            // The stream that rows are shared out from, where there are more streams than rows.
  int draft_rows = std::numeric_limits<int>::max();   // Most rows of one draft, its root included.
};

// No rows: all streams are paused. REQUIRES: none of the streams waits, has ended, or has a full context.
StepPlan PlanStep(const EngineCore& core, absl::Span<Stream* const> streams, const CostProfile& costs, const StepLimits& limits);

}  // namespace tessera
