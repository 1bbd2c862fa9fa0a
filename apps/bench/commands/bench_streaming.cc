// tessera_bench streaming: passes of a streamed model compared with reading alone and computing alone.
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/flash/streaming_speed.h"
#include "tessera/apps/bench/flash/streaming_speed_text.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kContext = 512;  // Keys and values count to a budget, so figures depend on the context.

absl::Status Run() {
  RETURN_IF_ERROR(CheckRepetitions());
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(kContext, /*timeline=*/nullptr, /*own_budgets=*/true));
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, /*depth=*/std::nullopt));
  ASSIGN_OR_RETURN(const StreamingSpeed speed, MeasureStreaming(options, FLAGS_repetitions));
  return ShowResult(heading, StreamingSpeedText(speed), [&](JsonWriter& json) { WriteStreamingSpeed(json.Key("streaming"), speed); });
}

}  // namespace

Command BenchStreaming() {
  return {{.subcommand = "streaming",
           .summary = "Passes of a streamed model beside reading alone and computing alone. Without --memory_budget it tries budgets "
                      "that hold 0.8, 0.5 and 0.25 of the weights.",
           .examples = {"tessera_bench streaming --model model.tsr --threads 2"},
           .groups = {{"Measurement", {"repetitions"}}, ModelFlagsBut({"path", "recipe", "kv_block", "trace", "dry_run"}), StreamingFlags(),
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
