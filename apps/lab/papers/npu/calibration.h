// Figures that profiles of phones are fitted to. Predicts each figure, and estimates the prediction of a fit without the figure.
//
//   ASSIGN_OR_RETURN(const std::vector<CalibrationFigure> figures, CalibrationFigures());
//   ASSIGN_OR_RETURN(const std::vector<double> milliseconds, PredictCalibration(figures, profiles, models));
//   ASSIGN_OR_RETURN(const CalibrationErrors errors, ErrorsOfCalibration(figures, profiles, models));
//   Print(errors.median(), errors.median_left_out());
//
// scripts/npu/fit_profiles.py uses the same figures: both read calibration.jsonl. Each figure is a time of one graph, or of loading one.
// Pure functions, except for the models that `models` caches: threads one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"

namespace tessera {

struct CalibrationFigure {
  enum class Time : uint8_t { kPass, kPrompt, kLoad };
  std::string device = {}, source = {};
  double milliseconds = 0;              // As published.
  Time time = Time::kPass;
  std::string shape = {}, recipe = {};  // Always a static graph.
  int64_t context = 4096;
  int64_t rows = 1;                     // In a pass,
  int64_t prompt = 1;                   // tokens of a prompt,
  int64_t chunk_rows = 1;               // and rows in a pass over it.
  int adapter_rank = 0;
};

// Returns the built-in figures.
absl::StatusOr<std::vector<CalibrationFigure>> CalibrationFigures();

// Reads a JSON object per line. InvalidArgument (source, line, field, found, expected).
absl::StatusOr<std::vector<CalibrationFigure>> ParseCalibration(absl::string_view text, absl::string_view source);

// Returns milliseconds, in the order of `figures`.
absl::StatusOr<std::vector<double>> PredictCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                       KnownModels& models);

struct CalibrationErrors {
  int parameters = 0;                       // The number of fitted parameters.
  std::vector<double> in_sample = {};       // Predicted / published - 1.
  std::vector<double> left_out = {};        // The same error for a fit without the figure.

  double median() const { return MedianOf(in_sample); }
  double worst() const { return WorstOf(in_sample); }
  double median_left_out() const { return MedianOf(left_out); }
  double worst_left_out() const { return WorstOf(left_out); }

 private:
  static double MedianOf(const std::vector<double>& errors);
  static double WorstOf(const std::vector<double>& errors);
};

// Computes the errors of each figure left out, by the fit's own slopes. Predictions are taken as linear in the logarithms of the fitted
// parameters (differences of a tenth of a per cent), with the fit's stiffness. Then a figure's logarithmic error grows by 1 / (1 - h). h is
// the figure's entry in the diagonal of the matrix that maps measured values to fitted values. Limits of parameters are ignored: limits
// could only hold errors back.
absl::StatusOr<CalibrationErrors> ErrorsOfCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                      KnownModels& models);

}  // namespace tessera
