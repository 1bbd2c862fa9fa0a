// tessera_bench overhead: a token's cost outside the graphs.
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/overhead.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, kOverheadTokens));
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  RETURN_IF_ERROR(CheckRepetitions());
  const BenchmarkOptions benchmark = {.generate_tokens = FLAGS_generate_tokens, .depth = FLAGS_depth};
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(benchmark.NeededContext()));
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
  ASSIGN_OR_RETURN(const Overhead overhead, MeasureOverhead(options, benchmark, FLAGS_repetitions));
  return ShowResult(heading, OverheadText(overhead), [&](JsonWriter& json) { WriteOverhead(json.Key("overhead"), overhead); });
}

}  // namespace

Command BenchOverhead() {
  return {{.subcommand = "overhead",
           .summary = "What a token costs outside the graphs, and what a timeline adds. Shows where the time of a generated token "
                      "goes, and how long threads wait for each other.",
           .examples = {"tessera_bench overhead --threads 2"},
           .groups = {{"Measurement", {"generate_tokens", "depth", "repetitions"}},
                      ModelFlagsBut({"trace"}), StreamingFlags(), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
