#include "tessera/apps/reproduce/npu_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tessera/apps/reproduce/published.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kMore = 1.1;          // What sensitivities multiply a parameter by.
constexpr double kNoMove = 1e-9;       // Logarithms that differ by less are the same.

using Middles = std::map<std::string, double>;   // By the id of a prediction.

absl::StatusOr<Middles> MiddlesOf(const ProfileSet& profiles, const NpuAssumptions& assumptions, KnownModels& models) {
  ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, assumptions, models));
  Middles middles;
  for (const Prediction& prediction : predictions) middles[prediction.id] = MiddleOf(prediction.low, prediction.high);
  return middles;
}

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

// None for the infinite error of a missed one, and for none at all.
std::optional<double> MiddleError(std::vector<double> errors) {
  if (errors.empty()) return std::nullopt;
  const auto middle = errors.begin() + static_cast<int64_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return std::isfinite(*middle) ? std::optional<double>(*middle) : std::nullopt;
}

void SetStatistics(NpuComparison& comparison) {
  std::vector<double> errors, apart;   // A missed one's is infinite.
  for (const ComparedFigure& figure : comparison.figures) {
    if (!figure.counted) continue;
    ++comparison.counted;
    comparison.missed += figure.missed() ? 1 : 0;
    comparison.bounds_kept += figure.bound_kept() ? 1 : 0;
    if (figure.bound_kept()) continue;
    const double error = figure.missed() ? std::numeric_limits<double>::infinity() : std::abs(*figure.error);
    const int within = error <= kNearEnough ? 1 : 0;
    errors.push_back(error);
    comparison.within += within;
    if (figure.near_calibration) continue;
    apart.push_back(error);
    comparison.within_apart += within;
  }
  comparison.judged = static_cast<int>(errors.size());
  comparison.judged_apart = static_cast<int>(apart.size());
  comparison.median_error = MiddleError(std::move(errors));
  comparison.median_error_apart = MiddleError(std::move(apart));
}

// Squares of logarithms by which predictions went up and down, by id.
struct Deviations {
  std::map<std::string, double> up = {}, down = {};

  // What one number at its two ends does: the largest and the least prediction, with that as it is.
  void Add(const Middles& base, const Middles& low, const Middles& high) {
    for (const auto& [id, value] : base) {
      const double a = std::log(low.at(id) / value), b = std::log(high.at(id) / value);
      const double largest = std::max({a, b, 0.0}), least = std::min({a, b, 0.0});
      up[id] += largest * largest;
      down[id] += least * least;
    }
  }
};

absl::StatusOr<Deviations> DeviationsOf(const ProfileSet& profiles, const Middles& base, KnownModels& models) {
  Deviations deviations;
  for (const std::string& name : AssumedParameters(profiles)) {
    ASSIGN_OR_RETURN(const Middles low, MiddlesOf(AtEnd(profiles, name, RangeEnd::kLow), {}, models));
    ASSIGN_OR_RETURN(const Middles high, MiddlesOf(AtEnd(profiles, name, RangeEnd::kHigh), {}, models));
    deviations.Add(base, low, high);
  }
  for (const NpuAssumption& assumption : NpuAssumptionRanges()) {
    NpuAssumptions least, most;
    least.*assumption.value = assumption.low;
    most.*assumption.value = assumption.high;
    ASSIGN_OR_RETURN(const Middles low, MiddlesOf(profiles, least, models));
    ASSIGN_OR_RETURN(const Middles high, MiddlesOf(profiles, most, models));
    deviations.Add(base, low, high);
  }
  return deviations;
}

absl::Status SetBands(const ProfileSet& profiles, KnownModels& models, NpuComparison& comparison) {
  ASSIGN_OR_RETURN(const Middles base, MiddlesOf(profiles, {}, models));
  ASSIGN_OR_RETURN(const Deviations deviations, DeviationsOf(profiles, base, models));
  for (ComparedFigure& figure : comparison.figures) {
    if (!figure.prediction.has_value()) continue;
    figure.band_low = base.at(figure.id) * std::exp(-std::sqrt(deviations.down.at(figure.id)));
    figure.band_high = base.at(figure.id) * std::exp(std::sqrt(deviations.up.at(figure.id)));
  }
  return absl::OkStatus();
}

// What changed predictions are to those of `base`.
Sensitivity MovesOf(std::string parameter, const Middles& base, const Middles& changed) {
  Sensitivity one = {.parameter = std::move(parameter)};
  for (const auto& [id, value] : base) {
    const double move = std::log(changed.at(id) / value);
    if (std::abs(move) <= kNoMove) continue;
    ++one.moved;
    if (std::abs(std::expm1(move)) <= std::abs(one.change)) continue;
    one.change = std::expm1(move);
    one.most = id;
  }
  return one;
}

Middles MiddlesOf(const NpuComparison& comparison) {
  Middles middles;
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.prediction.has_value()) middles[figure.id] = MiddleOf(figure.prediction->low, figure.prediction->high);
  }
  return middles;
}

}  // namespace

double MiddleOf(double low, double high) { return low == high ? low : std::sqrt(low * high); }

absl::StatusOr<NpuComparison> CompareWithoutBands(const ProfileSet& profiles, KnownModels& models, const NpuAssumptions& assumptions) {
  ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, assumptions, models));
  NpuComparison comparison;
  for (const PublishedFigure& published : PublishedNpuFigures()) {
    ComparedFigure figure = FigureOf(published);
    const auto found = std::find_if(predictions.begin(), predictions.end(),
                                    [&](const Prediction& prediction) { return prediction.id == figure.id; });
    if (found != predictions.end()) {
      figure.prediction = *found;
      figure.near_calibration = found->near_calibration;
      SetError(figure);
    }
    comparison.figures.push_back(std::move(figure));
  }
  SetStatistics(comparison);
  return comparison;
}

absl::StatusOr<std::vector<Sensitivity>> SensitivityOfPredictions(const ProfileSet& profiles, KnownModels& models) {
  ASSIGN_OR_RETURN(const Middles base, MiddlesOf(profiles, {}, models));
  std::vector<Sensitivity> all;
  for (const ProfileField& field : ProfileFields()) {
    ASSIGN_OR_RETURN(const Middles more, MiddlesOf(Times(profiles, field.name, kMore), {}, models));
    all.push_back(MovesOf(field.name, base, more));
  }
  return all;
}

absl::StatusOr<OpenQuestion> AskHeldAttention(const ProfileSet& profiles, const NpuComparison& base, KnownModels& models) {
  ASSIGN_OR_RETURN(const NpuComparison other, CompareWithoutBands(profiles, models, {.held_attention = true}));
  OpenQuestion question = {.question = "the CPU's attention in static graphs takes all rows of the graph; by the other answer, only those "
                                       "that hold something"};
  question.moves = MovesOf("held_attention", MiddlesOf(base), MiddlesOf(other));
  for (size_t i = 0; i < other.figures.size(); ++i) {
    const ComparedFigure &before = base.figures[i], &after = other.figures[i];
    if (!after.prediction.has_value()) continue;
    const auto middle = [](const ComparedFigure& figure) { return MiddleOf(figure.prediction->low, figure.prediction->high); };
    if (std::abs(std::log(middle(after) / middle(before))) <= kNoMove) continue;
    question.figures.push_back({.id = after.id, .prediction = *after.prediction, .error = after.error});
  }
  question.within = other.within;
  question.within_apart = other.within_apart;
  question.median_error = other.median_error;
  question.median_error_apart = other.median_error_apart;
  return question;
}

absl::StatusOr<NpuComparison> CompareNpuFigures(const ProfileSet& profiles) {
  KnownModels models;
  ASSIGN_OR_RETURN(NpuComparison comparison, CompareWithoutBands(profiles, models));
  RETURN_IF_ERROR(SetBands(profiles, models, comparison));
  ASSIGN_OR_RETURN(comparison.sensitivity, SensitivityOfPredictions(profiles, models));
  ASSIGN_OR_RETURN(comparison.held_attention, AskHeldAttention(profiles, comparison, models));
  ASSIGN_OR_RETURN(comparison.calibration_figures, CalibrationFigures());
  ASSIGN_OR_RETURN(comparison.calibration, ErrorsOfCalibration(comparison.calibration_figures, profiles, models));
  return comparison;
}

}  // namespace tessera
