// Measures the costs of passes of several rows and of their logits, at a session's present length. A draft's worth is then known from the
// first step.
//
//   CostProfile costs;
//   RETURN_IF_ERROR(MeasureCosts(*session, {.seconds = 0.15}, costs));   // the session is as before, its logits included
//
// Row counts come in the order of the information that they give, one row first. No further pass begins that would end too late, by the
// costs known so far. Costs that are not measured are learnt from real steps. A streamed model is not read for measuring: all its costs are
// learnt from real steps, and its rows count as free at first. Generate measures once the first token is shown.
#pragma once

#include "absl/status/status.h"
#include "tessera/base/clock.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

struct MeasureOptions {
  double seconds = 0.15;   // 0: no pass at all.
  int most_rows = 16;
  const Clock* clock = nullptr;   // Times the passes. Null: the engine's clock.
};

// Measures into `costs`. Does nothing if the costs are frozen. Waits until the weights are read. Errors: the first error of a pass, or of
// reading the weights. REQUIRES: no tree of the session waits for Keep.
absl::Status MeasureCosts(Session& session, const MeasureOptions& options, CostProfile& costs);

}  // namespace tessera
