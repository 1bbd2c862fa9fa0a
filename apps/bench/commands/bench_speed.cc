// tessera_bench speed: tokens per second over a prompt and over generated text.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/flash/mapped_source.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/phone/phone_run.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/test_hooks.h"

namespace tessera {
namespace {

struct Speeds {                      // Tokens per second.
  std::optional<Spread> prompt;
  std::optional<Spread> generation;
};

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 0));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 0));
  if (FLAGS_prompt_tokens == 0 && FLAGS_generate_tokens == 0) {
    return WrongUsage("generate_tokens", "0 beside --prompt_tokens=0", "one of them above 0");
  }
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  for (const char* flag : {"flash", "io", "verify", "device"}) {
    if (!FLAGS_mapped || !IsGiven(flag)) continue;
    return WrongUsage(flag, "beside --mapped", "one of them: a mapped file is read by the system, and nothing is verified");
  }
  return CheckRepetitions();
}

absl::StatusOr<Speeds> Measure(Engine& engine, const BenchmarkOptions& options) {
  ASSIGN_OR_RETURN(Benchmark benchmark, Benchmark::Create(engine, options));
  std::vector<double> prompt, generation;
  Progress progress("repetitions", FLAGS_repetitions);
  for (int i = -1; i < FLAGS_repetitions; ++i) {  // The first run warms caches and is not counted.
    if (options.prompt_tokens > 0) {
      ASSIGN_OR_RETURN(const double seconds, benchmark.TimePrompt());
      if (i >= 0) prompt.push_back(options.prompt_tokens / seconds);
    }
    if (options.generate_tokens > 0) {
      ASSIGN_OR_RETURN(const GenerationTime time, benchmark.TimeGeneration());
      if (i >= 0) generation.push_back(options.generate_tokens / time.Total());
    }
    if (i >= 0) progress.Update(i + 1);
  }
  Speeds speeds;
  if (!prompt.empty()) speeds.prompt = SpreadOf(prompt);
  if (!generation.empty()) speeds.generation = SpreadOf(generation);
  return speeds;
}

std::string SpeedsText(const Speeds& speeds) {
  Table table({{"tokens/s"}, {"tokens", Table::Align::kRight}, {"min", Table::Align::kRight}, {"median", Table::Align::kRight},
               {"max", Table::Align::kRight}});
  const auto add = [&](const char* name, int tokens, const std::optional<Spread>& spread) {
    if (!spread) return;
    table.AddRow({name, absl::StrFormat("%d", tokens), absl::StrFormat("%.1f", spread->min), absl::StrFormat("%.1f", spread->median),
                  absl::StrFormat("%.1f", spread->max)});
  };
  add("prompt", FLAGS_prompt_tokens, speeds.prompt);
  add("generation", FLAGS_generate_tokens, speeds.generation);
  return table.ToString();
}

void WriteSpeed(JsonWriter& json, const char* name, int tokens, const std::optional<Spread>& spread) {
  if (!spread) return;
  json.Key(name).BeginObject().Key("tokens").Int(tokens);
  WriteSpread(json.Key("tokens_per_second"), *spread);
  json.EndObject();
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  const BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, OptionsForContext(benchmark.NeededContext(), trace.timeline()));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options, &trace));
  if (FLAGS_mapped) options.hooks = Hooks({.open_source = OpenMapped});
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  const absl::StatusOr<Speeds> speeds = Measure(*engine, benchmark);
  const absl::Status traced = trace.Finish(speeds.status());
  RETURN_IF_ERROR(speeds.status());
  if (phone != nullptr) WriteMessage(phone->Summary(*engine));
  const absl::Status shown = ShowResult(heading, SpeedsText(*speeds), [&](JsonWriter& json) {
    WriteSpeed(json, "prompt", FLAGS_prompt_tokens, speeds->prompt);
    WriteSpeed(json, "generation", FLAGS_generate_tokens, speeds->generation);
  });
  return EndOf(shown, traced);
}

}  // namespace

Command BenchSpeed() {
  return {{.subcommand = "speed",
           .summary = "Tokens per second over a prompt and over generated text. A prompt is computed many tokens at once; generated "
                      "tokens are computed and chosen one by one. Shows the least, median and greatest of several runs.",
           .examples = {"tessera_bench speed --threads 2",
                        "tessera_bench speed --prompt_tokens 0 --generate_tokens 64 --depth 4096 --threads 1"},
           .groups = {{"Measurement", {"prompt_tokens", "generate_tokens", "depth", "repetitions", "mapped"}},
                      ModelAndPhoneFlags(), StreamingFlags(), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
