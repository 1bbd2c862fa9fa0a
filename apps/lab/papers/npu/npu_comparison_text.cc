// Tables and JSON of a comparison.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;

ReportTable FiguresTable(const NpuComparison& comparison, bool counted) {
  ReportTable table = {.title = counted ? "Figures that count" : "Figures that do not count",
                       .columns = {"figure", "what", "unit", "paper", "published", "predicted", "error", "band"},
                       .texts = 4,
                       .name = counted ? "figures" : "not_counted"};
  if (counted) table.notes = {"*: near the calibration, the same graph on the same phone as figures that parameters were fitted to"};
  for (const ComparedFigure& figure : comparison.figures) {
    if (!figure.reason.empty() && figure.counted == counted) table.notes.push_back(absl::StrCat(figure.id, ": ", figure.reason));
    if (figure.counted != counted) continue;
    table.rows.push_back({figure.near_calibration ? absl::StrCat(figure.id, " *") : figure.id, figure.what, figure.unit, figure.source,
                          PublishedText(figure), PredictedText(figure), ErrorText(figure),
                          figure.prediction.has_value() ? EndsText(figure.band_low, figure.band_high) : "-"});
  }
  return table;
}

ReportTable AskedTable(const NpuComparison& comparison) {
  ReportTable table = {.title = "How it was asked", .columns = {"figure", "how it was asked"}, .texts = 2, .name = "asked"};
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.prediction.has_value()) table.rows.push_back({figure.id, figure.prediction->asked});
  }
  return table;
}

ReportTable SensitivityTable(const NpuComparison& comparison) {
  ReportTable table = {.title = "What parameters move",
                       .columns = {"10 % more of", "most", "moves", "by"},
                       .texts = 2,
                       .name = "sensitivity"};
  const auto add = [&table](const std::string& name, const Sensitivity& one) {
    table.rows.push_back({name, one.most.empty() ? "-" : one.most, absl::StrCat(one.moved),
                          one.most.empty() ? "-" : absl::StrFormat("%+.2f %%", 100 * one.change)});
  };
  for (const Sensitivity& one : comparison.sensitivity) add(one.parameter, one);
  add("(instead: attention of rows that are there)", comparison.held_attention.moves);
  return table;
}

// Lists the figures that move under the other answer to a question, and their errors then.
ReportTable OpenQuestionTable(const NpuComparison& comparison) {
  const OpenQuestion& question = comparison.held_attention;
  ReportTable table = {.title = absl::StrCat("Not said by papers: ", question.question),
                       .columns = {"figure", "published", "predicted", "error", "instead", "error"},
                       .name = "held_attention"};
  for (const OpenQuestion::Moved& moved : question.figures) {
    for (const ComparedFigure& figure : comparison.figures) {
      if (figure.id != moved.id) continue;
      table.rows.push_back({figure.id, PublishedText(figure), PredictedText(figure), ErrorText(figure),
                            EndsText(moved.prediction.low, moved.prediction.high), ErrorText(moved.error)});
    }
  }
  table.notes = {absl::StrFormat("instead: %d of %d within %.0f %%, median error %s; without those near the calibration %d of %d, %s",
                                 question.within, comparison.judged, 100 * kNearEnough, MedianText(question.median_error),
                                 question.within_apart, comparison.judged_apart, MedianText(question.median_error_apart))};
  return table;
}

std::string AskedOf(const CalibrationFigure& figure) {
  switch (figure.time) {
    case CalibrationFigure::Time::kPass: return absl::StrCat("a pass, rows: ", figure.rows);
    case CalibrationFigure::Time::kPrompt: return absl::StrCat("a prompt of ", figure.prompt, ", ", figure.chunk_rows, " at a time");
    case CalibrationFigure::Time::kLoad: return "loading";
  }
  return "";
}

// Lists the figures that parameters were fitted to, and the errors of the fit.
ReportTable CalibrationTable(const NpuComparison& comparison) {
  ReportTable table = {.title = "What parameters were fitted to",
                       .columns = {"fitted to", "phone", "of", "what", "published, ms", "predicted, ms", "error", "left out"},
                       .texts = 4,
                       .name = "calibration"};
  for (size_t i = 0; i < comparison.calibration_figures.size(); ++i) {
    const CalibrationFigure& figure = comparison.calibration_figures[i];
    const double error = comparison.calibration.in_sample[i];
    table.rows.push_back({figure.source, figure.device, absl::StrCat(figure.shape, ", ", figure.recipe), AskedOf(figure),
                          absl::StrFormat("%.4g", figure.milliseconds), absl::StrFormat("%.4g", figure.milliseconds * (1 + error)),
                          absl::StrFormat("%+.1f %%", 100 * error), absl::StrFormat("%+.1f %%", 100 * comparison.calibration.left_out[i])});
  }
  return table;
}

ReportTable SummaryTable(const NpuComparison& comparison) {
  const CalibrationErrors& calibration = comparison.calibration;
  ReportTable table = {.title = "How near",
                       .columns = {"figures", "judged", absl::StrFormat("within %.0f %%", 100 * kNearEnough), "missed", "median error"},
                       .name = kSummaryTable};
  table.rows = {{"all that count", absl::StrCat(comparison.judged), absl::StrCat(comparison.within), absl::StrCat(comparison.missed),
                 MedianText(comparison.median_error)},
                {"without those near the calibration", absl::StrCat(comparison.judged_apart), absl::StrCat(comparison.within_apart),
                 "", MedianText(comparison.median_error_apart)}};
  table.notes = {
      absl::StrFormat("%d figures count; %d of them are bounds, and kept.", comparison.counted, comparison.bounds_kept),
      absl::StrFormat("calibration, %d parameters, %d figures: median error %.1f %%, worst %.1f %%; each left out, %.1f %% and %.1f %%",
                      calibration.parameters, comparison.calibration_figures.size(), 100 * calibration.median(), 100 * calibration.worst(),
                      100 * calibration.median_left_out(), 100 * calibration.worst_left_out()),
      absl::StrCat("parameters as committed in ", kParametersCommit, ", before the first prediction")};
  return table;
}

void WriteSensitivity(JsonWriter& json, const Sensitivity& one) {
  json.BeginObject().Key("parameter").String(one.parameter).Key("moved").Int(one.moved).Key("most").String(one.most);
  json.Key("change").Double(one.change, kDigits).EndObject();
}

void WriteOpenQuestion(JsonWriter& json, const OpenQuestion& question) {
  json.Key("held_attention").BeginObject().Key("question").String(question.question).Key("moves");
  WriteSensitivity(json, question.moves);
  json.Key("figures").BeginArray();
  for (const OpenQuestion::Moved& moved : question.figures) {
    json.BeginObject().Key("id").String(moved.id).Key("predicted_low").Double(moved.prediction.low, kDigits);
    json.Key("predicted_high").Double(moved.prediction.high, kDigits);
    WriteOptional(json, "error", moved.error);
    json.EndObject();
  }
  json.EndArray().Key("within").Int(question.within);
  WriteOptional(json, "median_error", question.median_error);
  json.Key("without_near_calibration").BeginObject().Key("within").Int(question.within_apart);
  WriteOptional(json, "median_error", question.median_error_apart);
  json.EndObject().EndObject();
}

void WriteSummary(JsonWriter& json, const NpuComparison& comparison) {
  json.Key("summary").BeginObject().Key("counted").Int(comparison.counted).Key("judged").Int(comparison.judged);
  json.Key("bounds_kept").Int(comparison.bounds_kept).Key("within").Int(comparison.within).Key("near_enough").Double(kNearEnough);
  json.Key("missed").Int(comparison.missed);
  WriteOptional(json, "median_error", comparison.median_error);
  json.Key("without_near_calibration").BeginObject().Key("judged").Int(comparison.judged_apart);
  json.Key("within").Int(comparison.within_apart);
  WriteOptional(json, "median_error", comparison.median_error_apart);
  json.EndObject().EndObject();
}

void WriteCalibration(JsonWriter& json, const NpuComparison& comparison) {
  const CalibrationErrors& calibration = comparison.calibration;
  json.Key("calibration").BeginObject().Key("parameters").Int(calibration.parameters);
  json.Key("figures").Int(static_cast<int64_t>(comparison.calibration_figures.size()));
  json.Key("median_error").Double(calibration.median(), kDigits).Key("worst_error").Double(calibration.worst(), kDigits);
  json.Key("left_out_median_error").Double(calibration.median_left_out(), kDigits);
  json.Key("left_out_worst_error").Double(calibration.worst_left_out(), kDigits);
  json.Key("fitted_to").BeginArray();
  for (size_t i = 0; i < comparison.calibration_figures.size(); ++i) {
    const CalibrationFigure& figure = comparison.calibration_figures[i];
    json.BeginObject().Key("source").String(figure.source).Key("device").String(figure.device).Key("shape").String(figure.shape);
    json.Key("recipe").String(figure.recipe).Key("what").String(AskedOf(figure)).Key("milliseconds").Double(figure.milliseconds, kDigits);
    json.Key("error").Double(calibration.in_sample[i], kDigits).Key("left_out_error").Double(calibration.left_out[i], kDigits).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

absl::StatusOr<std::string> NpuComparisonText(const NpuComparison& comparison, absl::string_view table) {
  return ShownTables({SummaryTable(comparison), FiguresTable(comparison, /*counted=*/true), FiguresTable(comparison, /*counted=*/false),
                      AskedTable(comparison), SensitivityTable(comparison), OpenQuestionTable(comparison), CalibrationTable(comparison)},
                     table);
}

std::string NpuComparisonJson(const NpuComparison& comparison) {
  JsonWriter json;
  json.BeginObject().Key("parameters_commit").String(kParametersCommit).Key("figures").BeginArray();
  for (const ComparedFigure& figure : comparison.figures) WriteComparedFigure(json, figure, WithBand::kYes);
  json.EndArray().Key("sensitivity").BeginArray();
  for (const Sensitivity& one : comparison.sensitivity) WriteSensitivity(json, one);
  json.EndArray();
  WriteOpenQuestion(json, comparison.held_attention);
  WriteSummary(json, comparison);
  WriteCalibration(json, comparison);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace tessera
