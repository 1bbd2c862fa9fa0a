// Times a model: tokens a second over a prompt and over generated text.
#include <optional>

#include "absl/strings/str_format.h"
#include "tessera/apps/common/app_main.h"
#include "tessera/apps/common/benchmark.h"
#include "tessera/apps/common/dry_run.h"
#include "tessera/apps/common/engine_flags.h"
#include "tessera/apps/common/output.h"
#include "tessera/apps/common/overhead.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_bench",
          .summary = "Times a model: tokens a second over a prompt, which is computed many tokens at once, and over generated text, one "
                     "by one with the choice of each. Shows the least, median and greatest of several runs.",
          .examples = {"tessera_bench", "tessera_bench --prompt_tokens 0 --generate_tokens 64 --depth 4096 --threads 1",
                       "tessera_bench --json > before.json", "tessera_bench --overhead"},
          .groups = {{"Measurement", {"prompt_tokens", "generate_tokens", "depth", "repetitions", "overhead"}},
                     ModelFlags(), {"Output", {"json"}}}};
}

struct Result {
  std::string model;
  int threads = 0;
  std::string kernels;               // "reference" on that path.
  std::optional<Spread> prompt;      // Tokens a second.
  std::optional<Spread> generation;
};

absl::Status CheckFlags() {
  constexpr int kMost = 1 << 20;
  RETURN_IF_ERROR(CheckFlagRange("prompt_tokens", FLAGS_prompt_tokens, 0, kMost));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, FLAGS_overhead ? 1 : 0, kMost));
  RETURN_IF_ERROR(CheckFlagRange("depth", FLAGS_depth, 0, kMost));
  RETURN_IF_ERROR(CheckFlagRange("repetitions", FLAGS_repetitions, 1, 1000));
  return CheckNotBoth("trace", !FLAGS_trace.empty(), "overhead", FLAGS_overhead);
}

absl::Status Measure(Engine& engine, const BenchmarkOptions& options, Result& result) {
  ASSIGN_OR_RETURN(Benchmark benchmark, Benchmark::Create(engine, options));
  std::vector<double> prompt, generation;
  Progress progress("repetitions", FLAGS_repetitions);
  for (int i = -1; i < FLAGS_repetitions; ++i) {  // The first warms caches and is not counted.
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
  if (!prompt.empty()) result.prompt = SpreadOf(prompt);
  if (!generation.empty()) result.generation = SpreadOf(generation);
  return absl::OkStatus();
}

std::string ResultText(const Result& result) {
  Table table({{"tokens/s"}, {"tokens", Table::Align::kRight}, {"min", Table::Align::kRight}, {"median", Table::Align::kRight},
               {"max", Table::Align::kRight}});
  const auto add = [&](const char* name, int tokens, const std::optional<Spread>& spread) {
    if (!spread) return;
    table.AddRow({name, absl::StrFormat("%d", tokens), absl::StrFormat("%.1f", spread->min), absl::StrFormat("%.1f", spread->median),
                  absl::StrFormat("%.1f", spread->max)});
  };
  add("prompt", FLAGS_prompt_tokens, result.prompt);
  add("generation", FLAGS_generate_tokens, result.generation);
  return absl::StrFormat("%s, %d threads, kernels %s, %d repetitions, %d tokens before\n\n%s", result.model, result.threads,
                         result.kernels, FLAGS_repetitions, FLAGS_depth, table.ToString());
}

void WriteSpread(JsonWriter& json, const char* name, int tokens, const std::optional<Spread>& spread) {
  if (!spread) return;
  json.Key(name).BeginObject().Key("tokens").Int(tokens).Key("tokens_per_second").BeginObject();
  json.Key("min").Double(spread->min, 6).Key("median").Double(spread->median, 6).Key("max").Double(spread->max, 6);
  json.EndObject().EndObject();
}

void WriteHeading(JsonWriter& json, const Result& result) {
  json.Key("model").String(result.model);
  json.Key("threads").Int(result.threads);
  json.Key("kernels").String(result.kernels);
  json.Key("repetitions").Int(FLAGS_repetitions);
  json.Key("depth").Int(FLAGS_depth);
}

absl::Status ShowResult(const Result& result) {
  if (!FLAGS_json) return WriteOutput(ResultText(result));
  JsonWriter json;
  json.BeginObject();
  WriteHeading(json, result);
  WriteSpread(json, "prompt", FLAGS_prompt_tokens, result.prompt);
  WriteSpread(json, "generation", FLAGS_generate_tokens, result.generation);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

absl::Status ShowOverhead(const EngineOptions& options, const BenchmarkOptions& benchmark, const Result& result) {
  ASSIGN_OR_RETURN(const Overhead overhead, MeasureOverhead(options, benchmark, FLAGS_repetitions));
  if (!FLAGS_json) return WriteOutput(OverheadText(overhead));
  JsonWriter json;
  json.BeginObject();
  WriteHeading(json, result);
  WriteOverhead(json.Key("overhead"), overhead);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  if (FLAGS_overhead) benchmark.prompt_tokens = 0;
  if (options.context == 0) options.context = benchmark.NeededContext();
  ASSIGN_OR_RETURN(options.threads, ThreadsOf(options));
  if (FLAGS_dry_run) return ShowLoadPlan(options, /*logit_rows=*/1);
  Result result = {.model = options.model_path, .threads = options.threads};
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.kernels));
  result.kernels = options.path == ComputePath::kReference ? "reference" : std::string(KernelPathName(kernels));
  if (FLAGS_overhead) return ShowOverhead(options, benchmark, result);
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  RETURN_IF_ERROR(trace.Finish(Measure(*engine, benchmark, result)));
  return ShowResult(result);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
