#include "tessera/apps/lab/scale/grid/grid_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/apps/lab/scale/report/frontier_chart.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--ink:#1d2024;--faint:#626a73;--rule:#d9dce1;--paper:#ffffff}"
    "@media (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--faint:#9aa2ab;--rule:#3b4148;--paper:#16191d}}"
    "body{font-family:system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:var(--ink);background:var(--paper)}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "th,td{border-bottom:1px solid var(--rule);padding:3px 8px;text-align:right;vertical-align:top}"
    "th.t,td.t{text-align:left;overflow-wrap:anywhere}td.n{white-space:nowrap}"
    "p{font-size:13px;color:var(--faint);margin:.3em 0}h2{margin-top:2em;font-size:1.2em}";

constexpr const char* kClockNames[] = {"host", "phone", "energy"};

size_t PlaceIn(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

FrontierChart::Point PointOf(const GridView& view, size_t place, double cost, const std::vector<std::string>& methods) {
  const GridConfiguration& configuration = view.configurations()[place];
  const Estimate& right = configuration.result.right;
  return {.label = view.WayOf(place), .name = view.LabelOf(place), .colour = configuration.run,
          .shape = PlaceIn(methods, configuration.result.method), .x = cost, .y = 100 * right.mean, .low = 100 * right.low,
          .high = 100 * right.high};
}

// Returns the task's methods, in the usual order.
std::vector<std::string> MethodsOf(const GridView& view, const std::string& task) {
  std::vector<std::string> methods;
  for (const std::string& method : GridMethodNames()) {
    for (const size_t place : view.ConfigurationsOf(task)) {
      if (view.configurations()[place].result.method != method) continue;
      methods.push_back(method);
      break;
    }
  }
  return methods;
}

std::string ChartOf(const GridView& view, const std::string& task, const GridClock& clock) {
  const std::vector<size_t> frontier = view.Frontier(task, clock);
  FrontierChart chart = {.title = absl::StrCat(task, ": right answers over ", clock.kind == GridClock::Kind::kEnergy ? "energy" : "time"),
                         .x_label = ClockLabel(clock), .y_label = "right, % (95 % intervals)", .shapes = MethodsOf(view, task)};
  for (size_t run = 0; run < view.runs().size(); ++run) chart.colours.push_back(view.ModelOf(run));
  for (const size_t place : view.ConfigurationsOf(task)) {
    const std::optional<double> cost = view.CostOf(place, clock);
    const bool beaten = std::find(frontier.begin(), frontier.end(), place) == frontier.end();
    if (cost.has_value() && beaten) chart.points.push_back(PointOf(view, place, *cost, chart.shapes));
  }
  for (const size_t place : frontier) {   // Last, so that the frontier lies on top, and in the order of the line.
    chart.points.push_back(PointOf(view, place, *view.CostOf(place, clock), chart.shapes));
    chart.points.back().on_frontier = true;
  }
  return FrontierChartSvg(chart);
}

void WriteConfiguration(const GridConfiguration& configuration, JsonWriter& json) {
  WriteGridResult(configuration.result, json.BeginObject());
  if (configuration.host.has_value()) {
    WriteHostTime(*configuration.host, json.Key("host").BeginObject());
    json.EndObject();
  }
  json.EndObject();
}

void WriteRuns(const GridView& view, JsonWriter& json) {
  json.Key("runs").BeginArray();
  for (const GridRunView& run : view.runs()) {
    WriteGridAbout(run.about, json.BeginObject().Key("folder").String(run.folder));
    json.EndObject();
  }
  json.EndArray();
}

JsonWriter& BeginClock(const std::string& task, const GridClock& clock, JsonWriter& json) {
  json.BeginObject().Key("task").String(task).Key("clock").String(kClockNames[static_cast<size_t>(clock.kind)]);
  return json.Key("name").String(clock.name);
}

}  // namespace

std::string GridReportText(const GridView& view) {
  std::string text;
  for (const std::string& task : view.tasks()) {
    absl::StrAppend(&text, ReportTableText(GridConfigurationTable(view, task)));
    if (view.runs().size() > 1) absl::StrAppend(&text, ReportTableText(GridCrossingTable(view, task)));
  }
  return text;
}

std::string GridReportHtml(const GridView& view) {
  std::string page = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">",
      "<title>Samples and choices</title><style>", kStyle, FrontierChartStyle(), "</style></head><body>\n",
      "<h1>Samples and choices: right answers, time and energy</h1>\n");
  absl::StrAppend(&page, "<p>Each configuration is a model, a way to choose, and a number N of samples that it chooses among. Charts show "
                         "what no other configuration beats; the tables below have all of their figures.</p>\n");
  for (const std::string& task : view.tasks()) {
    for (const GridClock& clock : view.ClocksOf(task)) absl::StrAppend(&page, ChartOf(view, task, clock));
    absl::StrAppend(&page, ReportTableHtml(GridConfigurationTable(view, task)));
    if (view.runs().size() > 1) absl::StrAppend(&page, ReportTableHtml(GridCrossingTable(view, task)));
  }
  return absl::StrCat(page, ReportTableHtml(GridRunTable(view)), "</body></html>\n");
}

std::string GridLines(const GridView& view) {
  std::string lines;
  for (const GridConfiguration& configuration : view.configurations()) {
    JsonWriter json;
    WriteConfiguration(configuration, json);
    absl::StrAppend(&lines, std::move(json).Take(), "\n");
  }
  return lines;
}

std::string GridReportJson(const GridView& view) {
  JsonWriter json;
  WriteRuns(view, json.BeginObject());
  json.Key("configurations").BeginArray();
  for (const GridConfiguration& configuration : view.configurations()) WriteConfiguration(configuration, json);
  json.EndArray().Key("frontiers").BeginArray();
  for (const std::string& task : view.tasks()) {
    for (const GridClock& clock : view.ClocksOf(task)) {
      BeginClock(task, clock, json).Key("configurations").BeginArray();
      for (const size_t place : view.Frontier(task, clock)) json.Int(static_cast<int64_t>(place));
      json.EndArray().EndObject();
    }
  }
  json.EndArray().Key("crossings").BeginArray();
  for (const std::string& task : view.tasks()) {
    for (const GridClock& clock : view.ClocksOf(task)) {
      for (const Crossing& crossing : view.Crossings(task, clock)) {
        BeginClock(task, clock, json).Key("smaller").Int(static_cast<int64_t>(crossing.smaller));
        json.Key("larger").Int(static_cast<int64_t>(crossing.larger)).Key("apart").Bool(crossing.apart).EndObject();
      }
    }
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
