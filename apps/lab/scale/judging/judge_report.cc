#include "tessera/apps/lab/scale/judging/judge_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/scale/judging/step_trees.h"
#include "tessera/apps/lab/scale/report/figures_json.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.1f", 100 * share); }

std::string Range(const Estimate& estimate) { return absl::StrCat(Percent(estimate.low), " to ", Percent(estimate.high)); }

std::string NameOf(const MethodFigures& figures) {
  return figures.method == "beam search" ? absl::StrCat(figures.method, " ", BeamShape(figures.samples)) : figures.method;
}

}  // namespace

std::string JudgeText(const JudgeReport& report) {
  std::string text = absl::StrCat(report.task, ": ", report.questions, " questions");
  if (report.samples_each > 0) absl::StrAppend(&text, " with ", report.samples_each, " samples each or more");
  if (report.split != "all") absl::StrAppend(&text, " of the half ", report.split);
  absl::StrAppend(&text, ", scorer ", report.scorer, ", seed ", report.seed);
  if (report.stated > 0) {
    absl::StrAppend(&text, "; ", report.agreeing, " of ", report.stated, " verdicts are those of the file");
  }
  Table table({{"samples", Table::Align::kRight},
               {"way"},
               {"right, %", Table::Align::kRight},
               {"95 % of", Table::Align::kRight},
               {"over one sample", Table::Align::kRight},
               {"95 % of that", Table::Align::kRight},
               {"until decided", Table::Align::kRight}});
  for (const MethodFigures& figures : report.figures) {
    const bool one = figures.samples == 1;
    table.AddRow({absl::StrCat(figures.samples), NameOf(figures), Percent(figures.accuracy.mean), Range(figures.accuracy),
                  one ? "-" : Percent(figures.gain.mean), one ? "-" : Range(figures.gain),
                  figures.until_decided.has_value() ? absl::StrFormat("%.2f", *figures.until_decided) : "-"});
  }
  return absl::StrCat(text, "\n\n", table.ToString());
}

std::string JudgeJson(const JudgeReport& report) {
  JsonWriter json;
  json.BeginObject().Key("task").String(report.task).Key("split").String(report.split).Key("questions").Int(report.questions);
  json.Key("samples_each").Int(report.samples_each).Key("scorer").String(report.scorer).Key("seed").Uint(report.seed);
  json.Key("draws").Int(report.draws).Key("agreeing").Int(report.agreeing).Key("stated").Int(report.stated);
  json.Key("figures").BeginArray();
  for (const MethodFigures& figures : report.figures) {
    json.BeginObject().Key("samples").Int(figures.samples).Key("way").String(NameOf(figures));
    WriteEstimate("right", figures.accuracy, json);
    WriteEstimate("gain", figures.gain, json);
    json.Key("until_decided");
    figures.until_decided.has_value() ? json.Double(*figures.until_decided, 6) : json.Null();
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
