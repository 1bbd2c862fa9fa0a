// tessera_bench roofline: speed compared with the limits of this machine's memory and arithmetic.
#include <memory>
#include <optional>

#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/roofline.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  RETURN_IF_ERROR(CheckRepetitions());
  const BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  const bool as_deep_as_the_context = FLAGS_depth == 0;
  // nullopt: the result's lines name the depths.
  const std::optional<int> depth = as_deep_as_the_context ? std::nullopt : std::optional<int>(FLAGS_depth);
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(as_deep_as_the_context ? 0 : benchmark.NeededContext()));
  if (options.compute.path == ComputePath::kReference) return WrongUsage("path", "reference", "fast or npu: it has no kernels to measure");
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, depth));
  ASSIGN_OR_RETURN(const KernelPath path, KernelPathFromName(options.compute.kernels));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const Roofline roofline, MeasureRoofline(*engine, path, benchmark, FLAGS_repetitions));
  return ShowResult(heading, RooflineText(roofline), [&](JsonWriter& json) { WriteRoofline(json.Key("roofline"), roofline); });
}

}  // namespace

Command BenchRoofline() {
  return {{.subcommand = "roofline",
           .summary = "Speed beside the best that memory and arithmetic here allow. Both are probed between the runs. Attention is "
                      "measured after --depth tokens; without it after 512 and, where the context allows, after 4096.",
           .examples = {"tessera_bench roofline --threads 2", "tessera_bench roofline --path=npu --threads 2"},
           .groups = {{"Measurement", {"prompt_tokens", "generate_tokens", "depth", "repetitions"}},
                      ModelFlagsBut({"trace", "dry_run"}), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
