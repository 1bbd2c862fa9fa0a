#include "tessera/apps/common/token_attention.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/common/benchmark.h"
#include "tessera/apps/common/engine_flags.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr char kDefaultDepths[] = "128,1024,4096,8192";
constexpr int kMostDepth = 1 << 20;

// Of sorted values, the one that `share` of them are below.
double Quantile(const std::vector<double>& sorted, double share) { return sorted[static_cast<size_t>(share * (sorted.size() - 1))]; }

absl::StatusOr<TokenAttention> MeasureAt(Benchmark& empty, Benchmark& full, int depth, int pairs) {
  RETURN_IF_ERROR(full.MoveTo(depth));
  std::vector<double> seconds, longer;
  for (int i = -1; i < pairs; ++i) {  // The first warms caches and is not counted.
    ASSIGN_OR_RETURN(const GenerationTime none, empty.TimeGeneration());
    ASSIGN_OR_RETURN(const GenerationTime all, full.TimeGeneration());
    if (i < 0) continue;
    seconds.push_back(all.pass_seconds);
    longer.push_back(all.pass_seconds - none.pass_seconds);
  }
  std::sort(longer.begin(), longer.end());
  return TokenAttention{.depth = depth, .seconds = MedianOf(seconds), .attention_seconds = MedianOf(longer),
                        .lower = Quantile(longer, 0.25), .upper = Quantile(longer, 0.75)};
}

std::string Micros(double seconds) { return absl::StrFormat("%.0f", seconds * 1e6); }

}  // namespace

absl::StatusOr<std::vector<int>> ParseDepths(const std::string& list) {
  return AscendingOfFlag("token_attention", list == "default" ? kDefaultDepths : list, kMostDepth);
}

absl::StatusOr<std::vector<TokenAttention>> MeasureTokenAttention(Engine& engine, const std::vector<int>& depths, int pairs) {
  ASSIGN_OR_RETURN(Benchmark empty, Benchmark::Create(engine, {.generate_tokens = 1}));
  ASSIGN_OR_RETURN(Benchmark full, Benchmark::Create(engine, {.generate_tokens = 1}));
  std::vector<TokenAttention> all;
  Progress progress("depths", static_cast<int>(depths.size()));
  for (int depth : depths) {
    ASSIGN_OR_RETURN(const TokenAttention at, MeasureAt(empty, full, depth, pairs));
    all.push_back(at);
    progress.Update(static_cast<int>(all.size()));
  }
  return all;
}

std::string TokenAttentionText(const std::vector<TokenAttention>& all) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"tokens before", kRight}, {"token, us", kRight}, {"attention, us", kRight}, {"quartiles", kRight},
               {"of the token", kRight}});
  for (const TokenAttention& at : all) {
    table.AddRow({absl::StrCat(at.depth), Micros(at.seconds), Micros(at.attention_seconds),
                  absl::StrCat(Micros(at.lower), " to ", Micros(at.upper)),
                  absl::StrFormat("%.1f %%", 100 * at.attention_seconds / at.seconds)});
  }
  return table.ToString();
}

void WriteTokenAttention(JsonWriter& json, const std::vector<TokenAttention>& all) {
  json.BeginArray();
  for (const TokenAttention& at : all) {
    json.BeginObject().Key("depth").Int(at.depth).Key("seconds").Double(at.seconds, 6);
    json.Key("attention_seconds").Double(at.attention_seconds, 6);
    json.Key("lower").Double(at.lower, 6).Key("upper").Double(at.upper, 6).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
