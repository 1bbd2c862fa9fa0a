#include "tessera/apps/lab/papers/figures/compared_figure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;

ComparedFigure FigureOf(const PublishedFigure& published) {
  ComparedFigure figure = {.id = published.id,
                           .what = published.what,
                           .unit = published.unit,
                           .source = published.source,
                           .published_low = published.low,
                           .published_high = published.high,
                           .counted = published.use == PublishedFigure::Use::kCounted,
                           .reason = published.reason};
  if (published.kind == PublishedFigure::Kind::kAtMost) figure.bound = ComparedFigure::Bound::kAtMost;
  if (published.kind == PublishedFigure::Kind::kAtLeast) figure.bound = ComparedFigure::Bound::kAtLeast;
  if (published.use == PublishedFigure::Use::kElsewhere) figure.reason += ": tessera_reproduce sdnpu";
  return figure;
}

void SetError(ComparedFigure& figure) {
  const double predicted = MiddleOf(figure.prediction->low, figure.prediction->high);
  const double published = MiddleOf(figure.published_low, figure.published_high);
  figure.band_low = figure.band_high = predicted;
  if (figure.bound == ComparedFigure::Bound::kAtMost && predicted <= published) return;
  if (figure.bound == ComparedFigure::Bound::kAtLeast && predicted >= published) return;
  figure.error = predicted / published - 1;
}

// Returns none for the infinite error of a missed figure, and for no errors.
std::optional<double> MiddleError(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  const auto middle = errors.begin() + static_cast<int64_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return std::isfinite(*middle) ? std::optional<double>(*middle) : std::nullopt;
}

const char* BoundText(ComparedFigure::Bound bound) {
  switch (bound) {
    case ComparedFigure::Bound::kNone: return "";
    case ComparedFigure::Bound::kAtMost: return "at most";
    case ComparedFigure::Bound::kAtLeast: return "at least";
  }
  return "";
}

}  // namespace

ComparedFigure CompareFigure(const PublishedFigure& published, const Prediction* prediction) {
  ComparedFigure figure = FigureOf(published);
  if (prediction == nullptr) return figure;
  figure.prediction = *prediction;
  figure.near_calibration = prediction->near_calibration;
  SetError(figure);
  return figure;
}

double MiddleOf(double low, double high) { return low == high ? low : std::sqrt(low * high); }

FigureCounts CountFigures(absl::Span<const ComparedFigure> figures) {
  FigureCounts counts;
  std::vector<double> errors;   // The error of a missed figure is infinite.
  for (const ComparedFigure& figure : figures) {
    if (!figure.counted) continue;
    ++counts.counted;
    counts.missed += figure.missed() ? 1 : 0;
    counts.bounds_kept += figure.bound_kept() ? 1 : 0;
    if (figure.bound_kept()) continue;
    errors.push_back(figure.missed() ? std::numeric_limits<double>::infinity() : std::abs(*figure.error));
    counts.within += errors.back() <= kNearEnough ? 1 : 0;
  }
  counts.judged = static_cast<int>(errors.size());
  counts.median_error = MiddleError(std::move(errors));
  return counts;
}

std::string EndsText(double low, double high) {
  return low == high ? absl::StrFormat("%.4g", low) : absl::StrFormat("%.4g - %.4g", low, high);
}

std::string PublishedText(const ComparedFigure& figure) {
  const char* sign = "";
  if (figure.bound == ComparedFigure::Bound::kAtMost) sign = "< ";
  if (figure.bound == ComparedFigure::Bound::kAtLeast) sign = "> ";
  return absl::StrCat(sign, EndsText(figure.published_low, figure.published_high));
}

std::string PredictedText(const ComparedFigure& figure) {
  return figure.prediction.has_value() ? EndsText(figure.prediction->low, figure.prediction->high) : "-";
}

std::string ErrorText(const std::optional<double>& error) {
  return error.has_value() ? absl::StrFormat("%+.1f %%", 100 * *error) : "kept";
}

std::string ErrorText(const ComparedFigure& figure) {
  if (!figure.prediction.has_value()) return figure.counted ? "missed" : "";
  return ErrorText(figure.error);
}

std::string MedianText(const std::optional<double>& error) {
  return error.has_value() ? absl::StrFormat("%.1f %%", 100 * *error) : "that of a missed one";
}

void WriteOptional(JsonWriter& json, const char* key, const std::optional<double>& number) {
  json.Key(key);
  if (number.has_value()) {
    json.Double(*number, kDigits);
  } else {
    json.Null();
  }
}

void WriteComparedFigure(JsonWriter& json, const ComparedFigure& figure, WithBand band) {
  json.BeginObject().Key("id").String(figure.id).Key("what").String(figure.what).Key("unit").String(figure.unit);
  json.Key("source").String(figure.source).Key("counted").Bool(figure.counted).Key("near_calibration").Bool(figure.near_calibration);
  json.Key("reason").String(figure.reason);
  json.Key("published_low").Double(figure.published_low).Key("published_high").Double(figure.published_high);
  json.Key("bound").String(BoundText(figure.bound));
  if (figure.prediction.has_value()) {
    json.Key("predicted_low").Double(figure.prediction->low, kDigits).Key("predicted_high").Double(figure.prediction->high, kDigits);
    if (band == WithBand::kYes) {
      json.Key("band_low").Double(figure.band_low, kDigits).Key("band_high").Double(figure.band_high, kDigits);
    }
    json.Key("asked").String(figure.prediction->asked);
  }
  WriteOptional(json, "error", figure.error);
  json.Key("missed").Bool(figure.missed()).Key("bound_kept").Bool(figure.bound_kept()).EndObject();
}

}  // namespace tessera
