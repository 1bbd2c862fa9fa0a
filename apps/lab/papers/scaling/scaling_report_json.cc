// The report of test-time scaling as text, as JSON, and as a picture.
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/scaling/scaling_figures.h"
#include "tessera/apps/lab/papers/scaling/scaling_report.h"
#include "tessera/apps/lab/papers/scaling/scaling_tables.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;

// Writes an array, by kScalingRows or by another list of a report.
template <typename Values, typename ValueOf>
void WriteArray(JsonWriter& json, const char* key, const Values& values, ValueOf value_of) {
  json.Key(key).BeginArray();
  for (const auto& value : values) json.Double(value_of(value), kDigits);
  json.EndArray();
}

void WriteRange(JsonWriter& json, const PowerRange& range) {
  json.BeginObject().Key("value").Double(range.value, kDigits).Key("low").Double(range.low, kDigits);
  json.Key("high").Double(range.high, kDigits).EndObject();
}

void WriteAssumptions(JsonWriter& json, const ScalingAssumptions& assumed) {
  json.Key("assumptions").BeginObject().Key("step_positions").Int(assumed.step_positions);
  json.Key("prompt_tokens").Int(assumed.prompt_tokens).Key("answer_tokens").Int(assumed.answer_tokens);
  json.Key("all_samples").Bool(assumed.all_samples).EndObject();
}

void WriteSteps(JsonWriter& json, const ScalingSteps& steps) {
  json.BeginObject().Key("phone").String(steps.model.phone).Key("shape").String(steps.model.shape);
  WriteArray(json, "milliseconds", steps.passes, [](const PassCost& pass) { return 1e3 * pass.seconds; });
  WriteArray(json, "head_milliseconds", steps.passes, [](const PassCost& pass) { return 1e3 * pass.head_seconds; });
  json.Key("tokens_per_second").BeginArray();
  for (size_t i = 0; i < steps.passes.size(); ++i) json.Double(steps.TokensPerSecond(i), kDigits);
  json.EndArray().Key("head_share").BeginArray();
  for (size_t i = 0; i < steps.passes.size(); ++i) json.Double(steps.HeadShare(i), kDigits);
  json.EndArray().EndObject();
}

void WriteAttention(JsonWriter& json, const ScalingAttention& attention) {
  const auto busy = [&](Bound part) { return 1e3 * attention.cost.busy[static_cast<size_t>(part)]; };
  json.BeginObject().Key("rows").Int(attention.rows).Key("milliseconds").Double(1e3 * attention.cost.seconds, kDigits);
  json.Key("matrix_milliseconds").Double(busy(Bound::kMatrix), kDigits);
  json.Key("vector_milliseconds").Double(busy(Bound::kVector), kDigits);
  json.Key("dma_milliseconds").Double(busy(Bound::kDma), kDigits).EndObject();
}

void WritePower(JsonWriter& json, const ScalingPower& power) {
  json.BeginObject().Key("shape").String(power.shape).Key("watts").BeginArray();
  for (const PowerRange& watts : power.watts) WriteRange(json, watts);
  json.EndArray().Key("step_energy").BeginArray();
  for (const PowerRange& energy : power.energy) WriteRange(json, energy);
  json.EndArray().EndObject();
}

void WriteMemory(JsonWriter& json, const ScalingMemory& memory) {
  json.BeginObject().Key("phone").String(memory.model.phone).Key("shape").String(memory.model.shape);
  json.Key("npu_bytes").Int(memory.npu_bytes).Key("bytes").Int(memory.bytes).Key("sessions").Int(memory.sessions).EndObject();
}

void WritePair(JsonWriter& json, const ScalingPair& pair) {
  json.BeginObject().Key("phone").String(pair.phone).Key("small").String(pair.small).Key("large").String(pair.large);
  json.Key("large_seconds").Double(pair.large_answer.seconds, kDigits).Key("most_samples").Int(pair.MostSamples());
  WriteArray(json, "seconds", kScalingRows, [&](int samples) { return pair.answers[static_cast<size_t>(samples) - 1].seconds; });
  WriteArray(json, "time_ratio", kScalingRows, [&](int samples) { return pair.TimeRatio(samples); });
  WriteArray(json, "energy_ratio", kScalingRows, [&](int samples) { return pair.EnergyRatio(samples); });
  WriteArray(json, "whole_ratio", kScalingRows, [&](int samples) { return pair.WholeRatio(samples); });
  json.Key("gap_share").BeginArray();
  for (const int samples : kScalingRows) {
    const std::optional<double> share = pair.GapShare(samples);
    share.has_value() ? json.Double(*share, kDigits) : json.Null();
  }
  json.EndArray().EndObject();
}

void WriteCurve(JsonWriter& json, const ScalingReport& report, const AccuracyCurve& curve) {
  json.BeginObject().Key("name").String(curve.name()).Key("of_the_paper").Bool(false).Key("points").BeginArray();
  for (const AccuracyPoint& point : curve.points) {
    json.BeginObject().Key("way").String(point.way).Key("samples").Int(point.samples);
    json.Key("right").Double(point.right.mean, kDigits).Key("gain").Double(point.gain.mean, kDigits).Key("largest_gaps").BeginArray();
    for (const ScalingPair& pair : report.pairs) json.String(LargestGap(point, pair));
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

void WriteBreakEven(JsonWriter& json, const BreakEven& one) {
  json.BeginObject().Key("phone").String(one.pair->phone).Key("small").String(one.pair->small).Key("large").String(one.pair->large);
  json.Key("set").String(one.set).Key("source").String(one.source).Key("one_sample").Double(one.one_sample, kDigits);
  json.Key("accuracies").BeginArray();
  for (const std::string& accuracy : one.accuracies) json.String(accuracy);
  json.EndArray().EndObject();
}

void WriteFigures(JsonWriter& json, const ScalingReport& report) {
  const std::vector<ComparedFigure> figures = ScalingFigures(report);
  const FigureCounts counts = CountFigures(figures);
  json.Key("figures").BeginArray();
  for (const ComparedFigure& figure : figures) WriteComparedFigure(json, figure, WithBand::kNo);
  json.EndArray().Key("summary").BeginObject().Key("counted").Int(counts.counted).Key("judged").Int(counts.judged);
  json.Key("within").Int(counts.within).Key("missed").Int(counts.missed);
  WriteOptional(json, "median_error", counts.median_error);
  json.EndObject();
}

void WritePhones(JsonWriter& json, const ScalingReport& report) {
  json.Key("rows").BeginArray();
  for (const int rows : kScalingRows) json.Int(rows);
  json.EndArray().Key("steps").BeginArray();
  for (const ScalingSteps& steps : report.steps) WriteSteps(json, steps);
  json.EndArray().Key("attention").BeginArray();
  for (const ScalingAttention& attention : report.attention) WriteAttention(json, attention);
  json.EndArray().Key("prompts").BeginArray();
  for (const ScalingPrompts& prompts : report.prompts) {
    json.BeginObject().Key("shape").String(prompts.shape).Key("rows").Int(prompts.rows);
    WriteArray(json, "milliseconds", prompts.seconds, [](double seconds) { return 1e3 * seconds; });
    json.EndObject();
  }
  json.EndArray().Key("power").BeginArray();
  for (const ScalingPower& power : report.powers) WritePower(json, power);
  json.EndArray().Key("energy_beside");
  WriteRange(json, report.energy_beside);
  json.Key("memory").BeginArray();
  for (const ScalingMemory& memory : report.memory) WriteMemory(json, memory);
  json.EndArray();
}

void WritePairs(JsonWriter& json, const ScalingReport& report) {
  json.Key("pairs").BeginArray();
  for (const ScalingPair& pair : report.pairs) WritePair(json, pair);
  json.EndArray().Key("otherwise").BeginArray();
  for (const ScalingOtherwise& otherwise : report.otherwise) {
    json.BeginObject().Key("what").String(otherwise.what);
    WriteArray(json, "time_ratio", otherwise.ratios, [](double ratio) { return ratio; });
    json.EndObject();
  }
  json.EndArray().Key("break_even").BeginArray();
  for (const BreakEven& one : BreakEvens(report)) WriteBreakEven(json, one);
  json.EndArray().Key("curves").BeginArray();
  for (const AccuracyCurve& curve : report.curves) WriteCurve(json, report, curve);
  json.EndArray();
}

}  // namespace

absl::StatusOr<std::string> ScalingReportText(const ScalingReport& report, absl::string_view table) {
  return ShownTables(ScalingTables(report), table);
}

std::string ScalingReportJson(const ScalingReport& report) {
  JsonWriter json;
  json.BeginObject();
  WriteAssumptions(json, report.assumptions);
  WriteFigures(json, report);
  WritePhones(json, report);
  WritePairs(json, report);
  WriteOrders(json.Key("orders"), report.orders);
  json.Key("not_addressed").BeginArray();
  for (const NotAddressed& one : kScalingNotAddressed) {
    json.BeginObject().Key("what").String(one.what).Key("why").String(one.why).EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take();
}

std::string ScalingReportSvg(const ScalingReport& report) {
  constexpr size_t kMostCurves = 3;   // With the larger model: the curves that have their own colours.
  Plot plot = {.title = absl::StrCat("Samples of a smaller model beside one of a larger, ", kMeasuredPhone),
               .x_label = "samples",
               .y_label = "time of decoding, the larger model: 1",
               .curves = {}};
  for (const ScalingPair& pair : report.pairs) {
    if (pair.phone != kMeasuredPhone || plot.curves.size() == kMostCurves) continue;
    PlotCurve& curve = plot.curves.emplace_back(PlotCurve{absl::StrCat(pair.small, " beside ", pair.large), {}});
    for (const int samples : kScalingRows) curve.points.emplace_back(samples, pair.TimeRatio(samples));
  }
  plot.curves.push_back({.name = "one sample of the larger",
                         .points = {{kScalingRows[0], 1}, {kScalingRows[std::size(kScalingRows) - 1], 1}},
                         .dashed = true});
  return PlotSvg(plot);
}

}  // namespace tessera
