// Measures what passes of several rows and their logits cost, before there is a text: a draft's worth is then known from its first step.
//
//   CostProfile costs;
//   RETURN_IF_ERROR(MeasureCosts(*engine, *session, {.seconds = 0.15}, costs));   // the session is empty before and after
//
// Row counts come in the order of what they tell; when the time is over, what is not measured is learnt from real steps. So it is for
// all counts of a model whose first pass takes longer, and of a streamed one, which is not read for this: its rows are taken to be free at first.
#pragma once

#include "absl/status/status.h"
#include "tessera/runtime/engine.h"
#include "tessera/spec/cost_profile.h"

namespace tessera {

struct MeasureOptions {
  double seconds = 0.15;   // No pass begins after so long.
  int most_rows = 16;
};

// The first error of a pass. REQUIRES: the session is empty.
absl::Status MeasureCosts(const Engine& engine, Session& session, const MeasureOptions& options, CostProfile& costs);

}  // namespace tessera
