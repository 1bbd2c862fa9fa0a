#include "tessera/apps/lab/papers/npu/npu_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kMore = 1.1;          // The factor on a parameter for sensitivities.
constexpr double kNoMove = 1e-9;       // Logarithms that differ by less count as equal.

using Middles = std::map<std::string, double>;   // By the id of a prediction.

absl::StatusOr<Middles> MiddlesOf(const ProfileSet& profiles, const NpuAssumptions& assumptions, KnownModels& models) {
  ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, assumptions, models));
  Middles middles;
  for (const Prediction& prediction : predictions) middles[prediction.id] = MiddleOf(prediction.low, prediction.high);
  return middles;
}

void SetStatistics(NpuComparison& comparison) {
  const FigureCounts all = CountFigures(comparison.figures);
  comparison.counted = all.counted;
  comparison.judged = all.judged;
  comparison.within = all.within;
  comparison.missed = all.missed;
  comparison.bounds_kept = all.bounds_kept;
  comparison.median_error = all.median_error;
  std::vector<ComparedFigure> apart = comparison.figures;
  std::erase_if(apart, [](const ComparedFigure& figure) { return figure.near_calibration; });
  const FigureCounts counts = CountFigures(apart);
  comparison.judged_apart = counts.judged;
  comparison.within_apart = counts.within;
  comparison.median_error_apart = counts.median_error;
}

// Sums of squared logarithms by which predictions went up and down, by id.
struct Deviations {
  std::map<std::string, double> up = {}, down = {};

  // Adds the effect of one number at its two ends: the largest and the least prediction, the unchanged one included.
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

// Compares changed predictions with `base`.
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

absl::StatusOr<NpuComparison> CompareWithoutBands(const ProfileSet& profiles, KnownModels& models, const NpuAssumptions& assumptions) {
  ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, assumptions, models));
  NpuComparison comparison;
  for (const PublishedFigure& published : PublishedNpuFigures()) {
    const auto found = std::find_if(predictions.begin(), predictions.end(),
                                    [&](const Prediction& prediction) { return prediction.id == published.id; });
    comparison.figures.push_back(CompareFigure(published, found == predictions.end() ? nullptr : &*found));
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
