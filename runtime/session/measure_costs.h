// Measures what passes of several rows and their logits cost, where a session stands: a draft's worth is then known from its first step.
//
//   CostProfile costs;
//   RETURN_IF_ERROR(MeasureCosts(*session, {.seconds = 0.15}, costs));   // the session is as before, its logits included
//
// Row counts come in the order of what they tell, one row first; no other pass begins that would end too late, by what is known then.
// What is not measured is learnt from real steps. So it is for all of a streamed model, which is not read for this: its rows are taken
// to be free at first. Generate does it once its first token is shown.
#pragma once

#include "absl/status/status.h"
#include "tessera/base/clock.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

struct MeasureOptions {
  double seconds = 0.15;   // 0: no pass at all.
  int most_rows = 16;
  const Clock* clock = nullptr;   // What passes are timed by. Null: the engine's.
};

// Nothing happens if the costs are frozen. The first error of a pass, or of reading the weights, which it waits for.
// REQUIRES: no tree of the session waits for Keep.
absl::Status MeasureCosts(Session& session, const MeasureOptions& options, CostProfile& costs);

}  // namespace tessera
