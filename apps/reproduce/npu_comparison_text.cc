// Tables and JSON of a comparison.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/reproduce/npu_comparison.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr Table::Align kRight = Table::Align::kRight;
constexpr int kDigits = 6;

std::string FiguresText(const NpuComparison& comparison, bool counted) {
  Table table({{"figure"}, {"what"}, {"unit"}, {"published", kRight}, {"predicted", kRight}, {"error", kRight}, {"band", kRight},
               {"paper"}});
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.counted != counted) continue;
    table.AddRow({figure.near_calibration ? absl::StrCat(figure.id, " *") : figure.id, figure.what, figure.unit, PublishedText(figure),
                  PredictedText(figure), ErrorText(figure),
                  figure.prediction.has_value() ? EndsText(figure.band_low, figure.band_high) : "-", figure.source});
  }
  return table.ToString();
}

std::string NotesText(const NpuComparison& comparison) {
  std::string text = "*: near the calibration, the same graph on the same phone as figures that parameters were fitted to\n";
  for (const ComparedFigure& figure : comparison.figures) {
    if (!figure.reason.empty()) absl::StrAppend(&text, figure.id, ": ", figure.reason, "\n");
  }
  return text;
}

std::string AskedText(const NpuComparison& comparison) {
  Table table({{"figure"}, {"how it was asked"}});
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.prediction.has_value()) table.AddRow({figure.id, figure.prediction->asked});
  }
  return table.ToString();
}

void AddSensitivity(const std::string& name, const Sensitivity& one, Table& table) {
  table.AddRow({name, absl::StrCat(one.moved), one.most.empty() ? "-" : one.most,
                one.most.empty() ? "-" : absl::StrFormat("%+.2f %%", 100 * one.change)});
}

std::string SensitivityText(const NpuComparison& comparison) {
  Table table({{"10 % more of"}, {"moves", kRight}, {"most"}, {"by", kRight}});
  for (const Sensitivity& one : comparison.sensitivity) AddSensitivity(one.parameter, one, table);
  AddSensitivity("(instead: attention of rows that are there)", comparison.held_attention.moves, table);
  return table.ToString();
}

// What moves where a question is answered otherwise, and how near it all is then.
std::string OpenQuestionText(const NpuComparison& comparison) {
  const OpenQuestion& question = comparison.held_attention;
  Table table({{"figure"}, {"published", kRight}, {"predicted", kRight}, {"error", kRight}, {"instead", kRight}, {"error", kRight}});
  for (const OpenQuestion::Moved& moved : question.figures) {
    for (const ComparedFigure& figure : comparison.figures) {
      if (figure.id != moved.id) continue;
      table.AddRow({figure.id, PublishedText(figure), PredictedText(figure), ErrorText(figure),
                    EndsText(moved.prediction.low, moved.prediction.high), ErrorText(moved.error)});
    }
  }
  return absl::StrCat(
      "Not said by papers: ", question.question, ".\n\n", table.ToString(),
      absl::StrFormat("\ninstead: %d of %d within %.0f %%, median error %s; without those near the calibration %d of %d, %s\n",
                      question.within, comparison.judged, 100 * kNearEnough, MedianText(question.median_error), question.within_apart,
                      comparison.judged_apart, MedianText(question.median_error_apart)));
}

std::string AskedOf(const CalibrationFigure& figure) {
  switch (figure.time) {
    case CalibrationFigure::Time::kPass: return absl::StrCat("a pass, rows: ", figure.rows);
    case CalibrationFigure::Time::kPrompt: return absl::StrCat("a prompt of ", figure.prompt, ", ", figure.chunk_rows, " at a time");
    case CalibrationFigure::Time::kLoad: return "loading";
  }
  return "";
}

// What parameters were fitted to, and how well that went.
std::string CalibrationText(const NpuComparison& comparison) {
  Table table({{"fitted to"}, {"phone"}, {"of"}, {"what"}, {"published, ms", kRight}, {"predicted, ms", kRight}, {"error", kRight},
               {"left out", kRight}});
  for (size_t i = 0; i < comparison.calibration_figures.size(); ++i) {
    const CalibrationFigure& figure = comparison.calibration_figures[i];
    const double error = comparison.calibration.in_sample[i];
    table.AddRow({figure.source, figure.device, absl::StrCat(figure.shape, ", ", figure.recipe), AskedOf(figure),
                  absl::StrFormat("%.4g", figure.milliseconds), absl::StrFormat("%.4g", figure.milliseconds * (1 + error)),
                  absl::StrFormat("%+.1f %%", 100 * error), absl::StrFormat("%+.1f %%", 100 * comparison.calibration.left_out[i])});
  }
  return table.ToString();
}

std::string SummaryText(const NpuComparison& comparison) {
  const CalibrationErrors& calibration = comparison.calibration;
  return absl::StrCat(
      absl::StrFormat("%d figures count: %d bounds are kept, %d are judged; of these %d within %.0f %%, %d missed, median error %s\n",
                      comparison.counted, comparison.bounds_kept, comparison.judged, comparison.within, 100 * kNearEnough,
                      comparison.missed, MedianText(comparison.median_error)),
      absl::StrFormat("without the %d near the calibration: %d are judged; of these %d within %.0f %%, median error %s\n",
                      comparison.judged - comparison.judged_apart, comparison.judged_apart, comparison.within_apart, 100 * kNearEnough,
                      MedianText(comparison.median_error_apart)),
      absl::StrFormat("calibration, %d parameters, %d figures: median error %.1f %%, worst %.1f %%; each left out, %.1f %% and %.1f %%\n",
                      calibration.parameters, comparison.calibration_figures.size(), 100 * calibration.median(), 100 * calibration.worst(),
                      100 * calibration.median_left_out(), 100 * calibration.worst_left_out()),
      "parameters as committed in ", kParametersCommit, ", before the first prediction\n");
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

std::string NpuComparisonText(const NpuComparison& comparison) {
  return absl::StrCat(FiguresText(comparison, true), "\nNot counted:\n\n", FiguresText(comparison, false), "\n", NotesText(comparison),
                      "\n", AskedText(comparison), "\n", SensitivityText(comparison), "\n", OpenQuestionText(comparison), "\n",
                      CalibrationText(comparison), "\n", SummaryText(comparison));
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
