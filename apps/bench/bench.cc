// Measures a model: a subcommand for each thing to measure.
#include "tessera/apps/bench/commands/bench_commands.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_bench",
          .summary = "Measures a model, and how near it comes to what the machine allows.",
          .examples = {"tessera_bench speed", "tessera_bench speed --prompt_tokens 0 --generate_tokens 64 --depth 4096 --threads 1",
                       "tessera_bench overhead", "tessera_bench rows --plot rows.svg",
                       "tessera_bench streaming --model model.tsr --threads 2", "tessera_bench batch --together 1,8",
                       "tessera_bench spec --threads 2"},
          .groups = {{"Output", {"json"}}},
          .moved = {{"lever", "tessera_lever"}}};
}

std::vector<Command> Commands() {
  return {BenchSpeed(), BenchOverhead(), BenchThreads(), BenchRoofline(), BenchRows(),
          BenchAttention(), BenchProducts(), BenchMemory(), BenchStreaming(), BenchBatch(), BenchSamples(), BenchAdapters(),
          BenchSpec()};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::CommandsMain(argc, argv, tessera::Info(), tessera::Commands()); }
