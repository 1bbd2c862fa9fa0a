#include "tessera/apps/bench/passes/memory_use.h"

#include "tessera/apps/cli/warnings.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {

absl::StatusOr<MeasuredMemory> MeasureMemory(const EngineOptions& options, const BenchmarkOptions& benchmark) {
  MeasuredMemory use;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  use.file = engine->model().gguf().size();
  use.in_page_cache_before = engine->model().gguf().CachedBytes();
  RETURN_IF_ERROR(engine->LoadWeights());
  RETURN_IF_ERROR(engine->AwaitWeights());
  WarnOfShortages(*engine);
  use.peak_loading = PeakMemoryBytes();
  use.in_page_cache_after = engine->model().gguf().CachedBytes();
  use.cache = engine->memory().cache;
  ASSIGN_OR_RETURN(Benchmark runs, Benchmark::Create(*engine, benchmark));
  if (benchmark.prompt_tokens > 0) RETURN_IF_ERROR(runs.TimePrompt().status());
  if (benchmark.generate_tokens > 0) RETURN_IF_ERROR(runs.TimeGeneration().status());
  use.peak_running = PeakMemoryBytes();
  return use;
}

std::string MemoryUseText(const MeasuredMemory& use) {
  Table table({{"memory"}, {"size", Table::Align::kRight}});
  const auto add = [&](const char* what, std::optional<int64_t> bytes) { table.AddRow({what, FormatKnownByteSize(bytes)}); };
  add("file", use.file);
  add("keys and values", use.cache);
  add("most allowed: both and 64 MiB", use.Limit());
  add("peak, loading", use.peak_loading);
  add("peak, running", use.peak_running);
  add("file in the page cache before", use.in_page_cache_before);
  add("file in the page cache after", use.in_page_cache_after);
  return table.ToString();
}

void WriteMemoryUse(JsonWriter& json, const MeasuredMemory& use) {
  json.BeginObject();
  json.Key("file").Int(use.file);
  json.Key("cache").Int(use.cache);
  json.Key("limit").Int(use.Limit());
  const auto put = [&](const char* key, std::optional<int64_t> bytes) {
    json.Key(key);
    if (bytes.has_value()) json.Int(*bytes); else json.Null();
  };
  put("peak_loading", use.peak_loading);
  put("peak_running", use.peak_running);
  json.Key("in_page_cache_before").Int(use.in_page_cache_before);
  json.Key("in_page_cache_after").Int(use.in_page_cache_after);
  json.EndObject();
}

}  // namespace tessera
