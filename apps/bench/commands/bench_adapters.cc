// tessera_bench adapters: the cost of adapters: passes, sequences with several adapters, changing to another adapter, memory.
#include <algorithm>
#include <memory>

#include "tessera/apps/bench/adapters/adapter_speed.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {
namespace {

constexpr int kDefaultTokens = 64, kDefaultDepth = 64;   // Passes are short: a pass mainly reads weights and adapters.
constexpr int kMostAdapters = 10000;

absl::StatusOr<AdapterSpeedOptions> AskedByFlags() {
  AdapterSpeedOptions asked = {.adapters = FLAGS_adapters,
                               .rank = FLAGS_rank,
                               .generate_tokens = IsGiven("generate_tokens") ? FLAGS_generate_tokens : kDefaultTokens,
                               .depth = IsGiven("depth") ? FLAGS_depth : kDefaultDepth,
                               .repetitions = FLAGS_repetitions};
  RETURN_IF_ERROR(CheckFlagRange("adapters", asked.adapters, kAdaptedTexts, kMostAdapters));
  RETURN_IF_ERROR(CheckFlagRange("rank", asked.rank, 1, kLargestAdapterRank));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", asked.generate_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("depth", asked.depth, 1));
  RETURN_IF_ERROR(CheckRepetitions());
  return asked;
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const AdapterSpeedOptions asked, AskedByFlags());
  ASSIGN_OR_RETURN(EngineOptions options, OptionsForContext(asked.NeededContext()));
  options.workload.sessions = options.workload.logit_rows = kAdaptedTexts + 1;
  options.cache.cache_tokens = std::max(asked.NeededTokens(), options.cache.context);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, asked.depth));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const AdapterSpeed speed, MeasureAdapters(*engine, asked));
  return ShowResult(heading, AdapterSpeedText(speed), [&](JsonWriter& json) { WriteAdapterSpeed(speed, json.Key("adapters")); });
}

}  // namespace

Command BenchAdapters() {
  return {{.subcommand = "adapters",
           .summary = "What adapters cost: passes, several texts, changing to another, memory. Adapters are random, of one rank on all "
                      "matrices, and made in memory, but for two that are read from files in the cache folder. Ratios are of one "
                      "repetition, in which all is measured by turns. Without the flags texts have 64 tokens before, and 64 more are "
                      "written.",
           .examples = {"tessera_bench adapters --threads 2", "tessera_bench adapters --model m.gguf --adapters 8 --rank 16"},
           .groups = {{"Measurement", {"adapters", "rank", "generate_tokens", "depth", "repetitions"}},
                      ModelFlagsBut({"trace", "dry_run"}), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
