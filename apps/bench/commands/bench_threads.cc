// tessera_bench threads: gain and cost of threads on two CPUs.
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/overhead.h"
#include "tessera/apps/bench/passes/thread_figures.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, kOverheadTokens));
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  RETURN_IF_ERROR(CheckRepetitions());
  const BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  ASSIGN_OR_RETURN(EngineOptions options, OptionsForContext(benchmark.NeededContext()));
  options.compute.threads = kThreadFigureCpus;
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
  ASSIGN_OR_RETURN(const std::vector<ThreadFigure> figures, MeasureThreads(options, benchmark, FLAGS_repetitions));
  return ShowResult(heading, ThreadFiguresText(figures), [&](JsonWriter& json) { WriteThreadFigures(json.Key("figures"), figures); });
}

}  // namespace

Command BenchThreads() {
  return {{.subcommand = "threads",
           .summary = "What threads gain and cost on two CPUs. Also for two engines side by side, for idle ones, and for more threads "
                      "than CPUs.",
           .examples = {"tessera_bench threads", "tessera_bench threads --repetitions 9 --generate_tokens 96"},
           .groups = {{"Measurement", {"prompt_tokens", "generate_tokens", "depth", "repetitions"}},
                      ModelFlagsBut({"threads", "trace", "dry_run"}), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
