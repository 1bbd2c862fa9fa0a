#include "tessera/runtime/session/measure_costs.h"

#include <algorithm>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/tree_logits.h"

namespace tessera {
namespace {

absl::Status MeasureOne(Session& session, int rows, TreeLogits& logits, CostProfile& costs) {
  TokenTree tree(0);
  for (int node = 1; node < rows; ++node) tree.Add(node - 1, 0, 1);
  const EngineCore& core = CoreOf(session);
  const double begin = logits.clock().Seconds(), waited = core.SwitchWaitSeconds();
  RETURN_IF_ERROR(session.PassTree(tree));
  const double pass_seconds = std::max(0.0, logits.clock().SecondsSince(begin) - (core.SwitchWaitSeconds() - waited));
  logits.Begin(rows, {.first_rows = rows == 4 ? std::min(rows, core.logits_at_once()) : 1});
  const absl::Status status = logits.Of(TokenTree::kRoot).status();
  session.Keep({}, {});
  RETURN_IF_ERROR(status);
  StepTime time = logits.time();
  time.pass_seconds = pass_seconds;
  LearnStep({.rows = rows}, time, costs);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureCosts(Session& session, const MeasureOptions& options, CostProfile& costs) {
  if (costs.frozen()) return absl::OkStatus();
  const LoadedModel& model = CoreOf(session).model();
  if (model.streams()) {
    costs.ExpectFreeRows();
    return absl::OkStatus();
  }
  if (options.seconds <= 0) return absl::OkStatus();
  if (Loading* const loading = model.loading(); loading != nullptr) RETURN_IF_ERROR(loading->AwaitResident());
  const Clock* const clock = options.clock != nullptr ? options.clock : CoreOf(session).options().clock;
  TreeLogits logits(session, model.config().vocabulary, GivenOrRealClock(clock));
  const int most_rows = std::min(options.most_rows, session.TreeRoom());
  if (session.length() == 0 && most_rows > 0) {  // An engine's first pass finds caches cold and threads asleep.
    CostProfile warm_up;
    RETURN_IF_ERROR(MeasureOne(session, 1, logits, warm_up));
  }
  const double end = logits.clock().Seconds() + options.seconds;
  for (const int rows : {1, 4, 8, 2, 1, 4, 8, 2, 1, 4, 8, 2, 16, 16, 16, 6, 3, 12}) {
    if (logits.clock().Seconds() + costs.PassSeconds({.rows = rows}) > end) break;
    if (rows <= most_rows) RETURN_IF_ERROR(MeasureOne(session, rows, logits, costs));
  }
  return absl::OkStatus();
}

}  // namespace tessera
