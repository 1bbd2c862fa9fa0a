// Times a model: tokens per second over a prompt and over generated text.
#include <algorithm>
#include <optional>
#include <utility>

#include <gflags/gflags.h>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/attention_time.h"
#include "tessera/apps/bench/benchmark.h"
#include "tessera/apps/bench/mapped_source.h"
#include "tessera/apps/bench/memory_use.h"
#include "tessera/apps/bench/overhead.h"
#include "tessera/apps/bench/product_speed.h"
#include "tessera/apps/bench/roofline.h"
#include "tessera/apps/bench/rows_curve.h"
#include "tessera/apps/bench/streaming_speed.h"
#include "tessera/apps/bench/streaming_speed_text.h"
#include "tessera/apps/bench/thread_figures.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/show/dry_run.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/test_hooks.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_bench",
          .summary = "Times a model: tokens per second over a prompt, which is computed many tokens at once, and over generated text, "
                     "whose tokens are computed and chosen one by one. Shows the least, median and greatest of several runs.",
          .examples = {"tessera_bench", "tessera_bench --prompt_tokens 0 --generate_tokens 64 --depth 4096 --threads 1",
                       "tessera_bench --overhead", "tessera_bench --roofline", "tessera_bench --rows default --plot rows.svg",
                       "tessera_bench --products --kernels avx2", "tessera_bench --streaming --model model.tsr --threads 2"},
          .groups = {{"Measurement",
                      {"prompt_tokens", "generate_tokens", "depth", "repetitions", "overhead", "thread_figures", "roofline",
                       "rows", "attention", "products", "memory", "streaming", "mapped"}},
                     ModelFlags(), StreamingFlags(), {"Output", {"plot", "peer_curve", "json"}}}};
}

struct Result {
  std::string model;
  int threads = 0;
  std::string kernels;               // "reference" on the reference path.
  std::optional<Spread> prompt;      // Tokens per second.
  std::optional<Spread> generation;
};

absl::Status Needs(const char* flag, bool on, const char* other, bool other_on) {
  if (!on || other_on) return absl::OkStatus();
  return WrongUsage(flag, absl::StrCat("without --", other), "both");
}

// A measurement without passes, or of the streamer itself, cannot use another source of weights.
absl::Status CheckMapped() {
  RETURN_IF_ERROR(CheckNotBoth("mapped", FLAGS_mapped, "products", FLAGS_products));
  RETURN_IF_ERROR(CheckNotBoth("mapped", FLAGS_mapped, "streaming", FLAGS_streaming));
  for (const char* flag : {"flash", "io", "verify"}) {
    if (!FLAGS_mapped || gflags::GetCommandLineFlagInfoOrDie(flag).is_default) continue;
    return WrongUsage(flag, "beside --mapped", "one of them: a mapped file is read by the system, and nothing is verified");
  }
  return absl::OkStatus();
}

// Each way of measuring excludes the others.
absl::Status CheckMode() {
  const std::pair<const char*, bool> modes[] = {
      {"trace", !FLAGS_trace.empty()}, {"overhead", FLAGS_overhead}, {"thread_figures", FLAGS_thread_figures},
      {"roofline", FLAGS_roofline}, {"rows", !FLAGS_rows.empty()}, {"attention", !FLAGS_attention.empty()},
      {"products", FLAGS_products}, {"memory", FLAGS_memory}, {"streaming", FLAGS_streaming}};
  for (const auto& mode : modes) {
    for (const auto* other = modes; other != &mode; ++other) {
      RETURN_IF_ERROR(CheckNotBoth(other->first, other->second, mode.first, mode.second));
    }
  }
  RETURN_IF_ERROR(Needs("plot", !FLAGS_plot.empty(), "rows", !FLAGS_rows.empty()));
  RETURN_IF_ERROR(CheckMapped());
  RETURN_IF_ERROR(Needs("peer_curve", !FLAGS_peer_curve.empty(), "plot", !FLAGS_plot.empty()));
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForField("plot", CheckWritable(FLAGS_plot)));
  if (FLAGS_path == "fast" || (!FLAGS_roofline && FLAGS_rows.empty() && !FLAGS_streaming)) return absl::OkStatus();
  return WrongUsage("path", FLAGS_path, "fast, which --roofline, --rows and --streaming are about");
}

absl::Status CheckFlags() {
  constexpr int kMost = 1 << 20;
  RETURN_IF_ERROR(CheckMode());
  RETURN_IF_ERROR(CheckNotBoth("threads", FLAGS_threads != 0, "thread_figures", FLAGS_thread_figures));
  RETURN_IF_ERROR(CheckNotBoth("depth", FLAGS_depth != 0, "attention", !FLAGS_attention.empty()));
  const bool needs_prompt = FLAGS_roofline || FLAGS_thread_figures;
  const bool needs_token = FLAGS_roofline || !FLAGS_attention.empty();
  const int fewest_generated = FLAGS_overhead || FLAGS_thread_figures ? kOverheadTokens : needs_token ? 1 : 0;
  RETURN_IF_ERROR(CheckFlagRange("prompt_tokens", FLAGS_prompt_tokens, needs_prompt ? 1 : 0, kMost));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, fewest_generated, kMost));
  RETURN_IF_ERROR(CheckFlagRange("depth", FLAGS_depth, 0, kMost));
  return CheckFlagRange("repetitions", FLAGS_repetitions, 1, 1000);
}

absl::Status Measure(Engine& engine, const BenchmarkOptions& options, Result& result) {
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
  if (!prompt.empty()) result.prompt = SpreadOf(prompt);
  if (!generation.empty()) result.generation = SpreadOf(generation);
  return absl::OkStatus();
}

std::string HeadingText(const Result& result) {
  return absl::StrFormat("%s, %d threads, kernels %s, %d repetitions, %d tokens before\n\n", result.model, result.threads,
                         result.kernels, FLAGS_repetitions, FLAGS_depth);
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
  return absl::StrCat(HeadingText(result), table.ToString());
}

void WriteSpeed(JsonWriter& json, const char* name, int tokens, const std::optional<Spread>& spread) {
  if (!spread) return;
  json.Key(name).BeginObject().Key("tokens").Int(tokens);
  WriteSpread(json.Key("tokens_per_second"), *spread);
  json.EndObject();
}

void WriteHeading(JsonWriter& json, const Result& result) {
  json.Key("model").String(result.model);
  json.Key("threads").Int(result.threads);
  json.Key("kernels").String(result.kernels);
  json.Key("repetitions").Int(FLAGS_repetitions);
  json.Key("depth").Int(FLAGS_depth);
}

// `put` adds the members of this measurement to the object.
absl::Status ShowJson(const Result& result, absl::FunctionRef<void(JsonWriter& json)> put) {
  JsonWriter json;
  json.BeginObject();
  WriteHeading(json, result);
  put(json);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

absl::Status ShowSpeeds(Engine& engine, const BenchmarkOptions& benchmark, const Trace& trace, Result& result) {
  RETURN_IF_ERROR(trace.Finish(Measure(engine, benchmark, result)));
  if (!FLAGS_json) return WriteOutput(ResultText(result));
  return ShowJson(result, [&](JsonWriter& json) {
    WriteSpeed(json, "prompt", FLAGS_prompt_tokens, result.prompt);
    WriteSpeed(json, "generation", FLAGS_generate_tokens, result.generation);
  });
}

absl::Status ShowOverhead(const EngineOptions& options, const BenchmarkOptions& benchmark, const Result& result) {
  ASSIGN_OR_RETURN(const Overhead overhead, MeasureOverhead(options, benchmark, FLAGS_repetitions));
  if (!FLAGS_json) return WriteOutput(OverheadText(overhead));
  return ShowJson(result, [&](JsonWriter& json) { WriteOverhead(json.Key("overhead"), overhead); });
}

absl::Status ShowThreadFigures(const EngineOptions& options, const BenchmarkOptions& benchmark, const Result& result) {
  ASSIGN_OR_RETURN(const std::vector<ThreadFigure> figures, MeasureThreads(options, benchmark, FLAGS_repetitions));
  if (!FLAGS_json) return WriteOutput(absl::StrCat(HeadingText(result), ThreadFiguresText(figures)));
  return ShowJson(result, [&](JsonWriter& json) { WriteThreadFigures(json.Key("figures"), figures); });
}

absl::Status ShowMemory(const EngineOptions& options, const BenchmarkOptions& benchmark, const Result& result) {
  ASSIGN_OR_RETURN(const MemoryUse use, MeasureMemory(options, benchmark));
  if (!FLAGS_json) return WriteOutput(MemoryUseText(use));
  return ShowJson(result, [&](JsonWriter& json) { WriteMemoryUse(json.Key("memory_bytes"), use); });
}

absl::Status ShowRoofline(Engine& engine, KernelPath path, const BenchmarkOptions& benchmark, const Result& result) {
  ASSIGN_OR_RETURN(const Roofline roofline, MeasureRoofline(engine, path, benchmark, FLAGS_repetitions));
  if (!FLAGS_json) return WriteOutput(absl::StrCat(HeadingText(result), RooflineText(roofline)));
  return ShowJson(result, [&](JsonWriter& json) { WriteRoofline(json.Key("roofline"), roofline); });
}

absl::Status DrawRows(const RowsCurve& curve, const Result& result, const absl::StatusOr<NamedCurve>& peer) {
  const std::string title = absl::StrCat(result.model.substr(result.model.rfind('/') + 1), ", ", result.threads, " threads");
  return WriteFileAtomically(FLAGS_plot, RowsCurveSvg(curve, title, peer.ok() ? &*peer : nullptr));
}

absl::Status ShowRows(Engine& engine, KernelPath path, const Result& result) {
  absl::StatusOr<NamedCurve> peer = absl::NotFoundError("none");
  if (!FLAGS_peer_curve.empty()) {
    peer = ReadCurve(FLAGS_peer_curve);
    RETURN_IF_ERROR(ForField("peer_curve", peer.status()));
  }
  ASSIGN_OR_RETURN(const std::vector<int> rows, ParseRows(FLAGS_rows));
  ASSIGN_OR_RETURN(const RowsCurve curve, MeasureRowsCurve(engine, path, rows, FLAGS_depth, FLAGS_repetitions));
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(DrawRows(curve, result, peer));
  if (!FLAGS_json) return WriteOutput(absl::StrCat(HeadingText(result), RowsCurveText(curve)));
  return ShowJson(result, [&](JsonWriter& json) { WriteRowsCurve(json, curve); });
}

absl::Status ShowAttention(Engine& engine, const Result& result) {
  ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths(FLAGS_attention));
  const AttentionPairs pairs = {.token_pairs = FLAGS_repetitions * FLAGS_generate_tokens,
                                .prompt_pairs = FLAGS_repetitions,
                                .prompt_tokens = FLAGS_prompt_tokens};
  ASSIGN_OR_RETURN(const std::vector<AttentionTime> all, MeasureAttention(engine, depths, pairs));
  if (!FLAGS_json) return WriteOutput(absl::StrCat(HeadingText(result), AttentionText(all)));
  return ShowJson(result, [&](JsonWriter& json) { WriteAttention(json.Key("attention"), all); });
}

absl::Status ShowStreaming(const EngineOptions& options, const Result& result) {
  ASSIGN_OR_RETURN(const StreamingSpeed speed, MeasureStreaming(options, FLAGS_repetitions));
  if (!FLAGS_json) return WriteOutput(absl::StrCat(HeadingText(result), StreamingSpeedText(speed)));
  return ShowJson(result, [&](JsonWriter& json) { WriteStreamingSpeed(json.Key("streaming"), speed); });
}

// Loads no model.
absl::Status ShowProducts() {
  ASSIGN_OR_RETURN(const KernelPath path, KernelPathFromName(FLAGS_kernels));
  ASSIGN_OR_RETURN(const std::vector<ProductSpeed> speeds, MeasureProducts(path, FLAGS_repetitions));
  if (!FLAGS_json) {
    return WriteOutput(absl::StrFormat("kernels %s, 1 thread, %d repetitions\n\n%s", KernelPathName(path), FLAGS_repetitions,
                                       ProductSpeedsText(speeds)));
  }
  JsonWriter json;
  json.BeginObject().Key("kernels").String(KernelPathName(path)).Key("repetitions").Int(FLAGS_repetitions);
  WriteProductSpeeds(json.Key("products"), speeds);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

// The context that a run needs; 0: the engine decides.
absl::StatusOr<int> ContextFor(const BenchmarkOptions& benchmark) {
  if (FLAGS_roofline && benchmark.depth == 0) return 0;  // It measures at depths as far as the context allows.
  if (!FLAGS_attention.empty()) {
    ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths(FLAGS_attention));
    return depths.back() + std::max(1, benchmark.prompt_tokens);
  }
  if (FLAGS_rows.empty()) return benchmark.NeededContext();
  ASSIGN_OR_RETURN(const std::vector<int> rows, ParseRows(FLAGS_rows));
  return benchmark.depth + rows.back();
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  if (FLAGS_products) return ShowProducts();
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  if (FLAGS_mapped) options.hooks = Hooks({.open_source = OpenMapped});
  BenchmarkOptions benchmark = {FLAGS_prompt_tokens, FLAGS_generate_tokens, FLAGS_depth};
  if (FLAGS_overhead) benchmark.prompt_tokens = 0;
  ASSIGN_OR_RETURN(const int context, ContextFor(benchmark));
  if (options.cache.context == 0) options.cache.context = context;
  if (FLAGS_thread_figures) options.compute.threads = kThreadFigureCpus;
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  Result result = {.model = options.model_path};
  ASSIGN_OR_RETURN(result.threads, ThreadsOf(options.compute));
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.compute.kernels));
  result.kernels = options.compute.path == ComputePath::kReference ? "reference" : std::string(KernelPathName(kernels));
  if (FLAGS_overhead) return ShowOverhead(options, benchmark, result);
  if (FLAGS_thread_figures) return ShowThreadFigures(options, benchmark, result);
  if (FLAGS_memory) return ShowMemory(options, benchmark, result);
  if (FLAGS_streaming) return ShowStreaming(options, result);
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  if (FLAGS_roofline) return ShowRoofline(*engine, kernels, benchmark, result);
  if (!FLAGS_rows.empty()) return ShowRows(*engine, kernels, result);
  if (!FLAGS_attention.empty()) return ShowAttention(*engine, result);
  return ShowSpeeds(*engine, benchmark, trace, result);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
