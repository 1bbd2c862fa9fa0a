// The report of Lever's shapes as text, as JSON, and as a picture.
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/figures/bar_chart.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/lever/lever_compared.h"
#include "tessera/apps/lab/papers/lever/lever_shapes.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;

void WriteNumber(JsonWriter& json, const std::optional<double>& value) {
  if (value.has_value()) {
    json.Double(*value, kDigits);
  } else {
    json.Null();
  }
}

void WriteConfiguration(JsonWriter& json, const LeverConfiguration& one) {
  json.BeginObject().Key("phone").String(one.phone).Key("model").String(one.model).Key("set").String(one.set);
  for (const char* system : kLeverSystems) {
    const LeverRun& run = one.By(system);
    json.Key(system).BeginObject().Key("tokens_per_second").Double(run.tokens_per_second(), kDigits);
    json.Key("tokens_per_pass").Double(run.tokens_per_pass(), kDigits).Key("rows_per_pass").Double(run.rows_per_pass(), kDigits);
    json.Key("seconds").Double(run.seconds, kDigits).Key("draft_seconds").Double(run.draft_seconds, kDigits);
    json.Key("head_seconds").Double(run.head_seconds, kDigits).EndObject();
  }
  json.EndObject();
}

void WriteRow(JsonWriter& json, const ComparedLeverRow& row) {
  json.BeginObject().Key("table").String(row.ours->table).Key("row").String(row.ours->row).Key("source").String(row.source);
  json.Key("counted").Bool(row.counted).Key("columns").BeginArray();
  for (const std::string& column : row.ours->columns) json.String(column);
  json.EndArray().Key("predicted").BeginArray();
  for (const std::optional<double>& value : row.ours->values) WriteNumber(json, value);
  json.EndArray().Key("published").BeginArray();
  for (const double value : row.published) json.Double(value, kDigits);
  json.EndArray().Key("errors").BeginArray();
  for (const std::optional<double>& error : row.errors) WriteNumber(json, error);
  json.EndArray().Key("missed").String(row.ours->missed).EndObject();
}

void WriteExecution(JsonWriter& json, const LeverExecution& one) {
  json.BeginObject().Key("model").String(one.model).Key("cycles").Double(one.cycles, kDigits);
  for (size_t i = 0; i < std::size(kLeverTrees); ++i) {
    json.Key(kLeverTrees[i]).BeginObject().Key("tokens_per_second").Double(one.tokens_per_second[i], kDigits);
    json.Key("tokens_per_pass").Double(one.tokens_per_pass[i], kDigits).EndObject();
  }
  json.Key("draft_milliseconds").BeginObject();
  for (const DraftWay way : kDraftWays) json.Key(NameOf(way)).Double(one.draft_milliseconds[static_cast<size_t>(way)], kDigits);
  json.EndObject().Key("head_milliseconds").BeginObject();
  for (const HeadWay way : kHeadWays) json.Key(NameOf(way)).Double(one.head_milliseconds[static_cast<size_t>(way)], kDigits);
  json.EndObject().Key("pass_milliseconds").Double(one.pass_milliseconds, kDigits).Key("upper_milliseconds");
  json.Double(one.upper_milliseconds, kDigits).Key("shortened_milliseconds").Double(one.shortened_milliseconds, kDigits).EndObject();
}

}  // namespace

absl::StatusOr<std::string> LeverReportText(const LeverReport& report, absl::string_view table) {
  return ShownTables(LeverTables(report), table);
}

std::string LeverReportJson(const LeverReport& report) {
  const LeverComparison comparison = CompareLever(report);
  JsonWriter json;
  json.BeginObject().Key("recordings").BeginArray();
  for (const std::string& recording : report.recordings) json.String(recording);
  json.EndArray().Key("off_path").String(kOffPathRule).Key("configurations").BeginArray();
  for (const LeverConfiguration& one : report.configurations) WriteConfiguration(json, one);
  json.EndArray().Key("figures").BeginArray();
  for (const ComparedLeverRow& row : comparison.rows) WriteRow(json, row);
  json.EndArray().Key("execution").BeginArray();
  for (const LeverExecution& one : report.executions) WriteExecution(json, one);
  json.EndArray().Key("summary").BeginObject().Key("counted").Int(comparison.counted).Key("within").Int(comparison.within);
  json.Key("missed").Int(comparison.missed).Key("median_error");
  WriteNumber(json, comparison.median_error);
  WriteOrders(json.EndObject().Key("orders"), report.orders);
  json.EndObject();
  return std::move(json).Take();
}

std::string LeverReportSvg(const LeverReport& report) {
  BarChart chart = {.title = absl::StrCat("Lever beside its baselines, ", kLeverPhones[0].name), .y_label = "tokens per second"};
  chart.parts = {"predicted"};
  for (const LeverConfiguration& one : report.configurations) {
    if (one.phone != kLeverPhones[0].name) continue;
    BarChart::Group& group = chart.groups.emplace_back(BarChart::Group{.name = absl::StrCat(one.model, ", ", one.set)});
    for (const char* system : kLeverSystems) group.bars.push_back({LeverSystemName(system), {one.SpeedOf(system)}});
  }
  return BarChartSvg(chart);
}

}  // namespace tessera
