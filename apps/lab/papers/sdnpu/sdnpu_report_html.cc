// Writes a report as one page: tables, with the pictures among the tables.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/figures/bar_chart.h"
#include "tessera/apps/lab/papers/sdnpu/request_picture.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_tables.h"
#include "tessera/apps/lab/scale/report/report_table.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {

namespace {

constexpr const char* kStyle =
    "body{font-family:sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "th,td{border-bottom:1px solid #ddd;padding:3px 8px;text-align:right;vertical-align:top}"
    "th.t,td.t{text-align:left}td.n{white-space:nowrap}p{font-size:13px;color:#555;margin:.3em 0}h2{margin-top:2em}"
    "svg{max-width:100%;height:auto;display:block;margin:1em 0}.two{display:flex;gap:16px}.two svg{width:50%}";

std::vector<double> PartsOf(const SystemOnTask& on, double per) {
  const double scale = per > 0 ? 1e3 / per : 0;
  const RequestParts& seconds = on.seconds;
  return {scale * seconds.prefill, scale * seconds.switching, scale * seconds.calibration, scale * seconds.drafting,
          scale * seconds.decode};
}

const std::vector<std::string>& PartNames() {
  static const std::vector<std::string> names = {"prompt", "waiting for graphs", "calibration", "drafting", "passes"};
  return names;
}

// The summary task on one phone: a group for each shape, a bar for each of these systems.
std::string SystemsSvg(const SdnpuPhone& phone, std::string title, const std::vector<const char*>& systems) {
  BarChart chart = {.title = std::move(title), .y_label = "ms per token", .parts = PartNames()};
  for (const SdnpuShape& shape : phone.shapes) {
    BarChart::Group& group = chart.groups.emplace_back(BarChart::Group{.name = shape.name});
    for (const char* system : systems) {
      const SystemOnTask& on = shape.On("summary", system);
      group.bars.push_back({SdnpuSystems()[SystemIndex(system)].name, PartsOf(on, on.tokens)});
    }
  }
  return BarChartSvg(chart);
}

std::string TasksSvg(const SdnpuPhone& phone) {
  BarChart chart = {.title = absl::StrCat(kMainShape, " on ", phone.name, ": four tasks"), .y_label = "ms per token", .parts = PartNames()};
  for (const char* task : kSdnpuTasks) {
    BarChart::Group& group = chart.groups.emplace_back(BarChart::Group{.name = task});
    for (const char* system : {"npu", "cpu", "npu_sd", "cpu_sam", "npu_eagle", "cpu_eagle", "full"}) {
      const SystemOnTask& on = phone.Shape(kMainShape).On(task, system);
      group.bars.push_back({SdnpuSystems()[SystemIndex(system)].name, PartsOf(on, on.tokens)});
    }
  }
  return BarChartSvg(chart);
}

// Draws two pictures: times of reading and of writing differ too much for one axis.
std::string ChunksSvg(const SdnpuReport& report) {
  PlotCurve reading = {"reading", {}, false}, decoding = {"decoding", {}, false};
  for (const ChunkPoint& point : report.chunks) {
    reading.points.emplace_back(point.rows, point.prefill_milliseconds);
    decoding.points.emplace_back(point.rows, point.decode_milliseconds);
  }
  std::string both = "<div class=\"two\">\n";
  for (const PlotCurve& curve : {reading, decoding}) {
    absl::StrAppend(&both, PlotSvg({absl::StrCat("One graph for both: ", curve.name, ", ", kMainShape, " on ", report.sweep_phone),
                                    "rows of the graph", "ms per token", {curve}}));
  }
  return both + "</div>\n";
}

std::string LengthsSvg(const SdnpuReport& report) {
  PlotCurve own = {"graph of just these rows", {}, false}, shared = {"graph of 32 rows", {}, false}, cpu = {"CPU, one row", {}, true};
  for (const LengthPoint& point : report.lengths) {
    own.points.emplace_back(point.rows, point.own_milliseconds);
    shared.points.emplace_back(point.rows, point.shared_milliseconds);
    cpu.points.emplace_back(point.rows, report.cpu_milliseconds);
  }
  return PlotSvg({absl::StrCat("Checking drafts, ", kMainShape, " on ", report.sweep_phone), "rows", "ms for each row",
                  {own, shared, cpu}});
}

// The same request by each rule that loads graphs.
std::string RulesSvg(const SdnpuReport& report) {
  RequestPicture picture = {.title = absl::StrCat("A prompt is read and graphs are switched, ", kMainShape, " on ", report.ablation_phone)};
  for (const RulePoint& point : report.rules) {
    if (point.rule == SwitchRule::kPadded) continue;
    picture.parts.push_back({std::string(SwitchRuleName(point.rule)), point.events});
  }
  return RequestPictureSvg(picture);
}

}  // namespace

std::string SdnpuReportSvg(const SdnpuReport& report) {
  return SystemsSvg(report.Phone(report.ablation_phone), absl::StrCat("Ablation on ", report.ablation_phone, ", summary"),
                    {"npu", "npu_g", "npu_sd", "npu_g_sd", "full", "full_planned"});
}

std::string SdnpuReportHtml(const SdnpuReport& report) {
  std::string page = absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>sd.npu, whole requests</title>",
                                  "<style>", kStyle, "</style></head><body>\n<h1>sd.npu, whole requests on modeled phones</h1>\n");
  absl::StrAppend(&page, "<p>Time is a model's (docs/npu.md), acceptance was recorded while a model wrote.</p>\n");
  absl::StrAppend(&page, SdnpuReportSvg(report));
  absl::StrAppend(&page, SystemsSvg(report.Phone(report.breakdown_phone),
                                    absl::StrCat("Breakdown on ", report.breakdown_phone, ", summary"),
                                    {"npu", "cpu", "npu_sd", "full"}));
  absl::StrAppend(&page, RulesSvg(report));
  for (const SdnpuPhone& phone : report.phones) absl::StrAppend(&page, TasksSvg(phone));
  absl::StrAppend(&page, ChunksSvg(report), "<div class=\"two\">\n", LengthsSvg(report), "</div>\n");
  for (const SdnpuTable& table : SdnpuTables(report)) absl::StrAppend(&page, ReportTableHtml(table));
  absl::StrAppend(&page, "<h2>Recordings</h2>\n");
  for (const std::string& recording : report.recordings) absl::StrAppend(&page, "<p>", SvgEscaped(recording), "</p>\n");
  return page + "</body></html>\n";
}

}  // namespace tessera
