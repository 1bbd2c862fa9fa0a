#include "tessera/runtime/measure_switching.h"

#include <cmath>
#include <memory>

#include "absl/status/status.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/session.h"

namespace tessera {

namespace {

// Seconds of a pass of so many rows by the graphs that blocks have.
absl::StatusOr<double> PassSeconds(Engine& engine, int rows) {
  const Clock& clock = engine.ClockOr(nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  const std::vector<TokenId> tokens(static_cast<size_t>(rows), 0);
  const int last = rows - 1;
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    session->Truncate(0);
    const int64_t begin = clock.NowNanos();
    RETURN_IF_ERROR(session->AppendSome(tokens, {last}, [](int, absl::Span<const float>) { return absl::OkStatus(); }));
    seconds = static_cast<double>(clock.NowNanos() - begin) * 1e-9;
  }
  return seconds;
}

// Seconds of loading a block's graphs for so many rows.
double LoadSeconds(const EngineCore& core, const GraphMotion& motion, int block, int rows) {
  const CompiledModel& model = core.runner().model();
  double seconds = 0;
  for (int layer = motion.FirstOf(block); layer < motion.FirstOf(block + 1); ++layer) {
    for (const std::shared_ptr<const CompiledGraph>& graph : model.variants()[static_cast<size_t>(model.layer(layer))]) {
      if (graph->row_capacity < rows) continue;
      seconds += core.device().CostOf(*graph).seconds;
      break;
    }
  }
  return seconds;
}

}  // namespace

absl::StatusOr<std::vector<SwitchTimes>> MeasureSwitchTimes(Engine& engine) {
  EngineCore& core = CoreOf(engine);
  GraphMotion* const motion = core.motion();
  if (motion == nullptr) return absl::FailedPreconditionError("switch times: found an engine whose graphs are not switched");
  const SwitchingOptions& options = motion->options();
  ASSIGN_OR_RETURN(const double prefill, PassSeconds(engine, options.prefill_rows));
  RETURN_IF_ERROR(motion->SwitchAll());
  ASSIGN_OR_RETURN(const double decode, PassSeconds(engine, options.prefill_rows));
  RETURN_IF_ERROR(motion->BeginReturn());
  RETURN_IF_ERROR(PassSeconds(engine, options.prefill_rows).status());   // Until all are there.
  const double runs = std::ceil(static_cast<double>(options.prefill_rows) / options.decode_rows);
  std::vector<SwitchTimes> times;
  for (int block = 0; block < motion->blocks(); ++block) {
    times.push_back({.prefill_seconds = prefill / motion->blocks(),
                     .decode_seconds = decode / motion->blocks() / runs,
                     .load_seconds = LoadSeconds(core, *motion, block, options.decode_rows),
                     .return_seconds = LoadSeconds(core, *motion, block, options.prefill_rows)});
  }
  return times;
}

}  // namespace tessera
