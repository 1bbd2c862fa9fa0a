#include "tessera/apps/bench/spec/spec_bench_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/spec/published_baselines.h"
#include "tessera/apps/bench/spec/svg_ranges.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/runtime/draft/speculation.h"

namespace tessera {
namespace {

constexpr auto kRight = Table::Align::kRight;

void Insert(double value, std::vector<double>& sorted) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
}

std::string QuantileText(const std::vector<double>& values, double share) {
  return values.empty() ? "-" : absl::StrFormat("%.2f", Quantile(values, share));
}

std::string TextsText(const CategoryResult& result) {
  if (result.left_out == 0) return absl::StrCat(result.texts);
  return absl::StrCat(result.texts, " of ", result.texts + result.left_out);
}

std::string GainsText(const std::vector<CategoryResult>& results) {
  Table table({{"category"},
               {"texts", kRight},
               {"plain, tok/s", kRight},
               {"drafted", kRight},
               {"lower quartile", kRight},
               {"median gain", kRight},
               {"upper", kRight},
               {"end to end", kRight},
               {"at best", kRight},
               {"threads meet, ns", kRight},
               {"changed", kRight}});
  for (const CategoryResult& result : results) {
    table.AddRow({result.name, TextsText(result), absl::StrFormat("%.1f", result.plain.TokensPerSecond()),
                  absl::StrFormat("%.1f", result.drafted.TokensPerSecond()), QuantileText(result.gains, 0.25),
                  QuantileText(result.gains, 0.5), QuantileText(result.gains, 0.75), QuantileText(result.total_gains, 0.5),
                  absl::StrFormat("%.2f", BestGain(result.row_times)),
                  result.barrier_nanos.empty() ? "-" : absl::StrFormat("%.0f", Quantile(result.barrier_nanos, 0.5)),
                  absl::StrCat(result.different)});
  }
  return table.ToString();
}

std::string PassesText(const std::vector<CategoryResult>& results) {
  Table table({{"category"},
               {"tokens per pass", kRight},
               {"rows", kRight},
               {"head rows", kRight},
               {"lookup's rule", kRight},
               {"rows", kRight},
               {"SAM's rule", kRight},
               {"rows", kRight},
               {"expected gain", kRight},
               {"measured", kRight},
               {"drafting, %", kRight},
               {"paused, %", kRight},
               {"8 rows cost", kRight},
               {"prompt costs", kRight}});
  for (const CategoryResult& result : results) {
    const SpeculationReport& report = result.speculation;
    const double steps = static_cast<double>(std::max<int64_t>(1, report.steps));
    table.AddRow({result.name, absl::StrFormat("%.2f", result.drafted.TokensPerPass()),
                  absl::StrFormat("%.1f", result.drafted.RowsPerPass()),
                  absl::StrFormat("%.1f", static_cast<double>(report.first_head_rows + report.later_head_rows) / steps),
                  absl::StrFormat("%.2f", result.lookup_rule.tau()), absl::StrFormat("%.1f", result.lookup_rule.rows_per_pass()),
                  absl::StrFormat("%.2f", result.suffix_rule.tau()), absl::StrFormat("%.1f", result.suffix_rule.rows_per_pass()),
                  absl::StrFormat("%.2f", report.PredictedGain()),
                  report.Gain().has_value() ? absl::StrFormat("%.2f", *report.Gain()) : "-",
                  absl::StrFormat("%.2f", report.Seconds() > 0 ? 100 * report.draft_seconds / report.Seconds() : 0),
                  absl::StrFormat("%.0f", 100 * static_cast<double>(report.paused_steps) / steps),
                  absl::StrFormat("%.2f", SecondsOfRows(result.row_times, 8) / SecondsOfRows(result.row_times, 1)),
                  QuantileText(result.prompt_costs, 0.5)});
  }
  return table.ToString();
}

std::string ShareText(int64_t part, int64_t whole) {
  return whole > 0 ? absl::StrFormat("%.0f", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

std::string AcceptanceText(const std::vector<CategoryResult>& results) {
  constexpr int kShownDepths = 8;
  std::vector<Table::Column> columns = {
      {"category"}, {"drafter"}, {"proposed", kRight}, {"verified", kRight}, {"right, %", kRight}};
  for (int depth = 1; depth <= kShownDepths; ++depth) columns.push_back({absl::StrCat("at ", depth), kRight});
  columns.push_back({"us per step", kRight});
  columns.push_back({"paused", kRight});
  Table table(columns);
  for (const CategoryResult& result : results) {
    for (const SpeculationReport::Source& source : result.speculation.sources) {
      const DraftAccount& account = source.account;
      std::vector<std::string> cells = {result.name, source.name, absl::StrCat(account.proposed), absl::StrCat(account.verified),
                                        ShareText(account.accepted, account.verified)};
      for (int i = 0; i < kShownDepths; ++i) cells.push_back(ShareText(account.accepted_at[i], account.verified_at[i]));
      cells.push_back(account.calls > 0 ? absl::StrFormat("%.1f", 1e6 * account.seconds / static_cast<double>(account.calls))
                                        : "-");
      cells.push_back(absl::StrCat(source.paused_steps));
      table.AddRow(cells);
    }
  }
  return table.ToString();
}

void WriteQuartiles(JsonWriter& json, const std::vector<double>& values) {
  json.BeginObject();
  if (!values.empty()) {
    json.Key("lower_quartile").Double(Quantile(values, 0.25), 6).Key("median").Double(Quantile(values, 0.5), 6);
    json.Key("upper_quartile").Double(Quantile(values, 0.75), 6);
  }
  json.EndObject();
}

void WriteTotals(JsonWriter& json, const TextTotals& totals) {
  json.BeginObject().Key("tokens").Int(totals.tokens).Key("passes").Int(totals.passes).Key("rows").Int(totals.rows);
  json.Key("decode_seconds").Double(totals.decode_seconds, 6).Key("total_seconds").Double(totals.total_seconds, 6);
  json.Key("tokens_per_second").Double(totals.TokensPerSecond(), 6).Key("tokens_per_pass").Double(totals.TokensPerPass(), 6);
  json.EndObject();
}

void WriteCounts(JsonWriter& json, const std::array<int64_t, DraftAccount::kDepths>& counts) {
  json.BeginArray();
  for (const int64_t count : counts) json.Int(count);
  json.EndArray();
}

void WriteDrafting(JsonWriter& json, const SpeculationReport& report) {
  json.BeginObject()
      .Key("steps")
      .Int(report.steps)
      .Key("drafted_steps")
      .Int(report.drafted_steps)
      .Key("paused_steps")
      .Int(report.paused_steps);
  json.Key("head_rows").Int(report.first_head_rows + report.later_head_rows + report.forecast_head_rows);
  json.Key("forecast_rows").Int(report.forecast_rows);
  json.Key("draft_seconds").Double(report.draft_seconds, 6).Key("pass_seconds").Double(report.pass_seconds, 6);
  json.Key("head_seconds").Double(report.head_seconds, 6).Key("top_seconds").Double(report.top_seconds, 6);
  WriteGain(json.Key("gain"), report);
  json.Key("expected_gain").Double(report.PredictedGain(), 6);
  json.Key("expected_tokens").Double(report.predicted_tokens, 6).Key("tokens").Int(report.tokens);
  json.Key("expected_seconds").Double(report.predicted_seconds, 6).Key("seconds").Double(report.Seconds(), 6);
  json.Key("expected_plain_seconds").Double(report.predicted_plain_seconds, 6).Key("plain_seconds").Double(report.plain_seconds, 6);
  json.Key("drafters").BeginArray();
  for (const SpeculationReport::Source& source : report.sources) {
    json.BeginObject().Key("drafter").String(source.name);
    if (!source.choice.empty()) json.Key("choice").String(source.choice);
    json.Key("proposed").Int(source.account.proposed);
    json.Key("verified").Int(source.account.verified).Key("accepted").Int(source.account.accepted);
    WriteCounts(json.Key("verified_at"), source.account.verified_at);
    WriteCounts(json.Key("accepted_at"), source.account.accepted_at);
    json.Key("seconds").Double(source.account.seconds, 6).Key("paused_steps").Int(source.paused_steps).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteCategory(JsonWriter& json, const CategoryResult& result) {
  json.BeginObject().Key("category").String(result.name).Key("texts").Int(result.texts).Key("left_out").Int(result.left_out);
  json.Key("changed").Int(result.different);
  WriteTotals(json.Key("plain"), result.plain);
  WriteTotals(json.Key("drafted"), result.drafted);
  WriteQuartiles(json.Key("gain"), result.gains);
  WriteQuartiles(json.Key("end_to_end_gain"), result.total_gains);
  WriteQuartiles(json.Key("prompt_cost"), result.prompt_costs);
  WriteQuartiles(json.Key("barrier_nanos"), result.barrier_nanos);
  json.Key("best_gain").Double(BestGain(result.row_times), 6);
  json.Key("lookup_rule_tokens_per_pass").Double(result.lookup_rule.tau(), 6);
  json.Key("suffix_rule_tokens_per_pass").Double(result.suffix_rule.tau(), 6);
  WriteDrafting(json.Key("speculation"), result.speculation);
  json.Key("row_seconds").BeginArray();
  for (const auto& [rows, seconds] : result.row_times)
    json.BeginObject().Key("rows").Int(rows).Key("seconds").Double(seconds, 6).EndObject();
  json.EndArray().EndObject();
}

// The published rules do not limit rows.
absl::Status AddReplay(Drafter& rule, const std::vector<TokenId>& prompt, const std::vector<TokenId>& output, Replayed& total) {
  ASSIGN_OR_RETURN(const Replayed replayed, Replay(rule, prompt, output, {.max_nodes = 1 << 10}));
  total += replayed;
  return absl::OkStatus();
}

}  // namespace

void TextTotals::Add(const TimedText& text) {
  tokens += text.DecodedTokens();
  passes += text.passes;
  rows += text.rows;
  decode_seconds += text.decode_seconds;
  total_seconds += text.TotalSeconds();
}

absl::Status CategoryResult::AddPair(const std::vector<TokenId>& prompt, const TimedText& plain_text,
                                     const TimedText& drafted_text, double barrier) {
  ++texts;
  Insert(barrier, barrier_nanos);
  if (plain_text.tokens != drafted_text.tokens) ++different;
  if (plain_text.DecodedTokens() < 1) return absl::OkStatus();
  plain.Add(plain_text);
  drafted.Add(drafted_text);
  Insert(drafted_text.prompt_seconds / plain_text.prompt_seconds, prompt_costs);
  Insert(plain_text.decode_seconds / drafted_text.decode_seconds, gains);
  Insert(plain_text.TotalSeconds() / drafted_text.TotalSeconds(), total_gains);
  PublishedPromptLookup lookup({});
  RETURN_IF_ERROR(AddReplay(lookup, prompt, plain_text.tokens, lookup_rule));
  PublishedSuffixAutomaton suffix({.threshold = 0, .length_by_match = true});
  return AddReplay(suffix, prompt, plain_text.tokens, suffix_rule);
}

std::string SpecBenchText(const std::vector<CategoryResult>& results) {
  return absl::StrCat(GainsText(results), "\n", PassesText(results), "\n", AcceptanceText(results));
}

void WriteSpecBench(JsonWriter& json, const std::vector<CategoryResult>& results) {
  json.Key("categories").BeginArray();
  for (const CategoryResult& result : results) WriteCategory(json, result);
  json.EndArray();
}

std::string SpecBenchSvg(const std::vector<CategoryResult>& results, const std::string& title) {
  RangeChart chart = {title, "speed, plain decoding = 1", "a drafter that knew the text", {}};
  for (const CategoryResult& result : results) {
    if (result.gains.empty()) continue;
    chart.ranges.push_back({result.name, Quantile(result.gains, 0.25), Quantile(result.gains, 0.5), Quantile(result.gains, 0.75),
                            BestGain(result.row_times)});
  }
  return RangeChartSvg(chart);
}

}  // namespace tessera
