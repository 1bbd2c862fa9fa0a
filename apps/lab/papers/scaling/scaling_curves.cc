#include "tessera/apps/lab/papers/scaling/scaling_curves.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/lab/papers/record/recording_fields.h"
#include "tessera/apps/lab/scale/report/figures_json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = int64_t{16} << 20, kMostSamples = 1024;   // The sample limit of tessera_scale.

absl::StatusOr<std::string> PrintableFieldOrNone(const JsonValue& line, absl::string_view key) {
  return line.Has(key) ? PrintableField(line, key) : absl::StatusOr<std::string>("");
}

absl::StatusOr<AccuracyPoint> PointOf(const JsonValue& figure, absl::string_view way) {
  AccuracyPoint point;
  ASSIGN_OR_RETURN(const int64_t samples, figure.Int("samples", 1, kMostSamples));
  point.samples = static_cast<int>(samples);
  ASSIGN_OR_RETURN(point.way, PrintableField(figure, way));
  ASSIGN_OR_RETURN(point.right, ReadEstimate(figure, "right", 0, 1));
  ASSIGN_OR_RETURN(point.gain, ReadEstimate(figure, "gain", -1, 1));
  return point;
}

// Reads a curve without its points.
absl::StatusOr<AccuracyCurve> HeadingOf(const JsonValue& line) {
  AccuracyCurve curve;
  ASSIGN_OR_RETURN(curve.task, PrintableField(line, "task"));
  ASSIGN_OR_RETURN(curve.model, PrintableFieldOrNone(line, "model"));
  return curve;
}

absl::StatusOr<AccuracyCurve> CurveOf(const JsonValue& line) {
  ASSIGN_OR_RETURN(AccuracyCurve curve, HeadingOf(line));
  ASSIGN_OR_RETURN(curve.scorer, PrintableField(line, "scorer"));
  ASSIGN_OR_RETURN(const JsonValue figures, line.Array("figures"));
  for (int64_t i = 0; i < figures.size(); ++i) {
    ASSIGN_OR_RETURN(AccuracyPoint point, PointOf(figures[i], "way"));
    curve.points.push_back(std::move(point));
  }
  if (curve.points.empty()) return figures.Error("no figure", "at least one");
  return curve;
}

// Adds a point to the curve of its task, which may be a new curve.
absl::Status AddGridPoint(const JsonValue& line, std::vector<AccuracyCurve>& curves) {
  ASSIGN_OR_RETURN(AccuracyCurve heading, HeadingOf(line));
  ASSIGN_OR_RETURN(AccuracyPoint point, PointOf(line, "method"));
  ASSIGN_OR_RETURN(const std::string scorer, PrintableFieldOrNone(line, "scorer"));
  if (!scorer.empty()) absl::StrAppend(&point.way, " by ", scorer);
  auto curve = std::find_if(curves.begin(), curves.end(), [&](const AccuracyCurve& known) {
    return known.scorer.empty() && known.task == heading.task && known.model == heading.model;
  });
  if (curve == curves.end()) curve = curves.insert(curves.end(), std::move(heading));
  curve->points.push_back(std::move(point));
  return absl::OkStatus();
}

}  // namespace

std::string AccuracyCurve::name() const {
  return absl::StrCat(model, model.empty() ? "" : ", ", task, scorer.empty() ? "" : ", scorer ", scorer);
}

absl::StatusOr<std::vector<AccuracyCurve>> ParseAccuracyCurves(absl::string_view text, absl::string_view source) {
  std::vector<AccuracyCurve> curves;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(line, absl::StrCat(source, ", line ", number)));
    if (!json.Has("figures")) {
      RETURN_IF_ERROR(AddGridPoint(json, curves));
      continue;
    }
    ASSIGN_OR_RETURN(curves.emplace_back(), CurveOf(json));
  }
  if (curves.empty()) return absl::InvalidArgumentError(absl::StrCat(source, ": found no curve, expected lines of tessera_scale"));
  return curves;
}

absl::StatusOr<std::vector<AccuracyCurve>> ReadAccuracyCurves(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostFileBytes));
  return ParseAccuracyCurves(text, path);
}

}  // namespace tessera
