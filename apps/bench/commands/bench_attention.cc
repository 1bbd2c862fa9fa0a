// tessera_bench attention: the extra time of a pass after many tokens, compared with a pass after none.
#include <algorithm>
#include <memory>

#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/attention_time.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 0));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 1));
  RETURN_IF_ERROR(CheckRepetitions());
  ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths(FLAGS_depths));
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(depths.back() + std::max(1, FLAGS_prompt_tokens)));
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, /*depth=*/std::nullopt));
  const AttentionPairs pairs = {.token_pairs = FLAGS_repetitions * FLAGS_generate_tokens,
                                .prompt_pairs = FLAGS_repetitions,
                                .prompt_tokens = FLAGS_prompt_tokens};
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const std::vector<AttentionTime> all, MeasureAttention(*engine, depths, pairs));
  return ShowResult(heading, AttentionText(all), [&](JsonWriter& json) { WriteAttention(json.Key("attention"), all); });
}

}  // namespace

Command BenchAttention() {
  return {{.subcommand = "attention",
           .summary = "How much longer a pass takes after many tokens than after none. The difference is the pass's attention to those "
                      "tokens. Measured are passes of one row, --repetitions x --generate_tokens times, and passes of "
                      "--prompt_tokens rows.",
           .examples = {"tessera_bench attention --threads 2", "tessera_bench attention --depths 128,4096"},
           .groups = {{"Measurement", {"depths", "prompt_tokens", "generate_tokens", "repetitions"}},
                      ModelFlagsBut({"trace"}), StreamingFlags(), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
