// tessera_bench memory: peak memory of loading and running.
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/memory_use.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 0));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 0));
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  const BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(benchmark.NeededContext()));
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, /*repetitions=*/std::nullopt, FLAGS_depth));
  ASSIGN_OR_RETURN(const MeasuredMemory use, MeasureMemory(options, benchmark));
  return ShowResult(heading, MemoryUseText(use), [&](JsonWriter& json) { WriteMemoryUse(json.Key("memory_bytes"), use); });
}

}  // namespace

Command BenchMemory() {
  return {{.subcommand = "memory",
           .summary = "The most memory that loading and running take, and may take. Beside it: how much of the file the page cache "
                      "holds before and after.",
           .examples = {"tessera_bench memory --depth 3500 --threads 2"},
           .groups = {{"Measurement", {"prompt_tokens", "generate_tokens", "depth"}},
                      ModelFlagsBut({"trace"}), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
