// The figures that profiles of phones are fitted to, what the model says to each, and what it would say if that figure had been left out.
//
//   ASSIGN_OR_RETURN(const std::vector<CalibrationFigure> figures, CalibrationFigures());
//   ASSIGN_OR_RETURN(const std::vector<double> milliseconds, PredictCalibration(figures, profiles, models));
//   ASSIGN_OR_RETURN(const CalibrationErrors errors, ErrorsOfCalibration(figures, profiles, models));
//   Print(errors.median(), errors.median_left_out());
//
// The figures are those of scripts/npu/fit_profiles.py: both read calibration.jsonl. Each is a time of one graph, or of loading it. Pure
// functions, but for what `models` keeps: threads one at a time.
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

// Those built in.
absl::StatusOr<std::vector<CalibrationFigure>> CalibrationFigures();

// A JSON object per line. InvalidArgument (source, line, field, found, expected).
absl::StatusOr<std::vector<CalibrationFigure>> ParseCalibration(absl::string_view text, absl::string_view source);

// Milliseconds, in the figures' order.
absl::StatusOr<std::vector<double>> PredictCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                       KnownModels& models);

struct CalibrationErrors {
  int parameters = 0;                       // That were fitted.
  std::vector<double> in_sample = {};       // Predicted / published - 1.
  std::vector<double> left_out = {};        // The same, had the figure not been there to fit to.

  double median() const { return MedianOf(in_sample); }
  double worst() const { return WorstOf(in_sample); }
  double median_left_out() const { return MedianOf(left_out); }
  double worst_left_out() const { return WorstOf(left_out); }

 private:
  static double MedianOf(const std::vector<double>& errors);
  static double WorstOf(const std::vector<double>& errors);
};

// Left out by the fit's own slopes: predictions are taken as linear in the logarithms of the fitted parameters (differences of a tenth of a
// per cent), with the fit's stiffness. Then a figure's logarithmic error grows by 1 / (1 - h), h being its entry in the diagonal of the
// matrix that makes fitted values of measured ones. Limits of parameters are not heeded: they could only hold errors back.
absl::StatusOr<CalibrationErrors> ErrorsOfCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                      KnownModels& models);

}  // namespace tessera
