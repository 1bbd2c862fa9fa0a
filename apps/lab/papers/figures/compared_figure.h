// Compares a published figure with its prediction: the error, by one rule for all, as text and as JSON.
//
//   const ComparedFigure figure = CompareFigure(published, &prediction);   // A figure of published.h, and what is predicted, or null.
//   Print(figure.what, PublishedText(figure), PredictedText(figure), ErrorText(figure));
//   const FigureCounts counts = CountFigures(figures);
//   Print(counts.within, counts.judged, counts.median_error);
//
// The rule: a figure and a prediction are the geometric middles of their ends, and the error is their ratio, less 1. A kept bound says
// nothing more and is in no statistic. The error of a bound that is not kept is the distance to its number. A figure without a prediction
// is missed, and counts as the largest error of all. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "tessera/apps/lab/papers/npu/npu_predictions.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct PublishedFigure;   // published.h, which is included only by files that compare and print.

inline constexpr double kNearEnough = 0.35;   // The largest error that nine of ten figures may have.

struct ComparedFigure {
  std::string id = {}, what = {}, unit = {}, source = {};
  double published_low = 0, published_high = 0;
  enum class Bound : uint8_t { kNone, kAtMost, kAtLeast } bound = Bound::kNone;
  bool counted = true;
  bool near_calibration = false;                    // As its prediction says.
  std::string reason = {};                          // The reason if not counted, or a note.
  std::optional<Prediction> prediction = {};        // None: missed, or compared elsewhere.
  std::optional<double> error = {};                 // None: missed, elsewhere, or a bound that is kept.
  double band_low = 0, band_high = 0;               // About the prediction's middle; the middle itself until the band is set.

  bool bound_kept() const { return prediction.has_value() && !error.has_value(); }
  bool missed() const { return counted && !prediction.has_value(); }
};

ComparedFigure CompareFigure(const PublishedFigure& published, const Prediction* prediction);

// Returns the geometric middle of a figure's or a prediction's ends.
double MiddleOf(double low, double high);

struct FigureCounts {
  int counted = 0;                            // Figures that count,
  int judged = 0;                             // counted figures with an error, or missed,
  int within = 0;                             // counted figures within kNearEnough,
  int missed = 0, bounds_kept = 0;
  std::optional<double> median_error = {};    // None: the median is a missed figure's, or there is no figure.
};
FigureCounts CountFigures(absl::Span<const ComparedFigure> figures);

std::string EndsText(double low, double high);                 // "4.2", "1.3 - 1.9".
std::string PublishedText(const ComparedFigure& figure);       // "< 8" for a bound.
std::string PredictedText(const ComparedFigure& figure);       // "-": no prediction.
std::string ErrorText(const ComparedFigure& figure);           // "+4.1 %", "kept", "missed"; empty for a figure that is compared elsewhere.
std::string ErrorText(const std::optional<double>& error);     // "kept" for none.
std::string MedianText(const std::optional<double>& error);

// Writes null for none.
void WriteOptional(JsonWriter& json, const char* key, const std::optional<double>& number);

enum class WithBand : uint8_t { kNo, kYes };
void WriteComparedFigure(JsonWriter& json, const ComparedFigure& figure, WithBand band);

}  // namespace tessera
