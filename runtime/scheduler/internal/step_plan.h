// Plans the rows of a scheduler's next pass. First come plain rows and drafts of the decoding streams, with forecasts for drafts by
// forecasts. Then come prompt chunks of the other streams.
//
//   StepPlan plan = PlanStep(core, streams, costs, {.most_gap = 2});
//   plan.rows();                                          // to be made room for in the cache
//   plan.Shrink(20);                                      // no more rows than these: chunks first, then drafts
//   for (const StepPart& part : plan.parts) ...           // each stream that has rows
//
// Threads: the thread that drives the streams.
#pragma once

#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/policies/row_policy.h"

namespace tessera {

// One stream's part of a pass: a chunk of the prompt, or the chosen part of the draft.
struct StepPart {
  int stream = 0;             // Index into the streams that the plan was made for.
  int chunk = 0;              // Tokens; 0: a tree.
  RowChoice choice = {};      // The part of the tree to keep.
  int rows() const { return chunk > 0 ? chunk : choice.shape().rows; }
};

// The parts of one pass.
struct StepPlan {
  std::vector<StepPart> parts = {};
  int rows() const;
  int prompt_rows() const;
  // Returns the rows, leaves and number of texts of all trees together.
  CostProfile::Shape shape() const;
  // Leaves at most `rows` rows, if removing chunks and drafts is enough. Otherwise leaves one row per decoding stream.
  void Shrink(int rows);
};

// Limits of a plan.
struct StepLimits {
  double most_gap = 2;        // StepperOptions::most_gap.
  // The stream that gets rows first, where there are more streams than rows.
  size_t turn = 0;
  int draft_rows = std::numeric_limits<int>::max();   // Most rows of one draft, its root included.
};

// Plans the next pass over `streams`. Returns a plan without rows if all streams are paused. REQUIRES: no stream waits, has ended, or has a
// full context.
StepPlan PlanStep(const EngineCore& core, absl::Span<Stream* const> streams, const CostProfile& costs, const StepLimits& limits);

}  // namespace tessera
