#include "tessera/apps/bench/passes/attention_time.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr char kDefaultDepths[] = "128,1024,4096,8192";
constexpr int kMostDepth = 1 << 20;

// Seconds of one pass after `depth` tokens. The pass is then truncated again, since both sessions share the slots of the cache.
absl::StatusOr<double> TimePass(Benchmark& benchmark, int rows, int depth) {
  double seconds = 0;
  if (rows > 1) {
    ASSIGN_OR_RETURN(seconds, benchmark.TimePrompt());
  } else {
    ASSIGN_OR_RETURN(const GenerationTime time, benchmark.TimeGeneration());
    seconds = time.pass_seconds;
  }
  RETURN_IF_ERROR(benchmark.MoveTo(depth));
  return seconds;
}

absl::StatusOr<AttentionTime> MeasureAt(Benchmark& empty, Benchmark& full, int rows, int depth, int pairs) {
  RETURN_IF_ERROR(full.MoveTo(depth));
  std::vector<double> seconds, longer;
  for (int i = -1; i < pairs; ++i) {  // The first run warms caches and is not counted.
    ASSIGN_OR_RETURN(const double none, TimePass(empty, rows, /*depth=*/0));
    ASSIGN_OR_RETURN(const double all, TimePass(full, rows, depth));
    if (i < 0) continue;
    seconds.push_back(all);
    longer.push_back(all - none);
  }
  std::sort(longer.begin(), longer.end());
  return AttentionTime{.rows = rows, .depth = depth, .seconds = MedianOf(seconds), .attention_seconds = Quantile(longer, 0.5),
                       .lower = Quantile(longer, 0.25), .upper = Quantile(longer, 0.75)};
}

std::string Micros(double seconds) { return absl::StrFormat("%.0f", seconds * 1e6); }

}  // namespace

absl::StatusOr<std::vector<int>> ParseDepths(const std::string& list) {
  return AscendingOfFlag("depths", list == "default" ? kDefaultDepths : list, kMostDepth);
}

absl::StatusOr<std::vector<AttentionTime>> MeasureAttention(Engine& engine, const std::vector<int>& depths, const AttentionPairs& pairs) {
  const BenchmarkOptions options = {.prompt_tokens = pairs.prompt_tokens, .generate_tokens = 1};
  ASSIGN_OR_RETURN(Benchmark empty, Benchmark::Create(engine, options));
  ASSIGN_OR_RETURN(Benchmark full, Benchmark::Create(engine, options));
  const std::vector<int> passes = pairs.prompt_tokens > 1 ? std::vector<int>{1, pairs.prompt_tokens} : std::vector<int>{1};
  std::vector<AttentionTime> all;
  Progress progress("depths", static_cast<int>(depths.size()));
  for (int depth : depths) {
    for (int rows : passes) {
      ASSIGN_OR_RETURN(const AttentionTime at, MeasureAt(empty, full, rows, depth, rows > 1 ? pairs.prompt_pairs : pairs.token_pairs));
      all.push_back(at);
    }
    progress.Update(static_cast<int>(all.size() / passes.size()));
  }
  std::stable_sort(all.begin(), all.end(), [](const AttentionTime& a, const AttentionTime& b) { return a.rows < b.rows; });
  return all;
}

std::string AttentionText(const std::vector<AttentionTime>& all) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"rows", kRight}, {"tokens before", kRight}, {"pass, us", kRight}, {"attention, us", kRight}, {"quartiles", kRight},
               {"of the pass", kRight}});
  for (const AttentionTime& at : all) {
    table.AddRow({absl::StrCat(at.rows), absl::StrCat(at.depth), Micros(at.seconds), Micros(at.attention_seconds),
                  absl::StrCat(Micros(at.lower), " to ", Micros(at.upper)),
                  absl::StrFormat("%.1f %%", 100 * at.attention_seconds / at.seconds)});
  }
  return table.ToString();
}

void WriteAttention(JsonWriter& json, const std::vector<AttentionTime>& all) {
  json.BeginArray();
  for (const AttentionTime& at : all) {
    json.BeginObject().Key("rows").Int(at.rows).Key("depth").Int(at.depth).Key("seconds").Double(at.seconds, 6);
    json.Key("attention_seconds").Double(at.attention_seconds, 6);
    json.Key("lower").Double(at.lower, 6).Key("upper").Double(at.upper, 6).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
