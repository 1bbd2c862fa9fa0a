// Published figures of NPUs next to predictions by the model of phones: errors, the band of assumed numbers, and sensitivities.
//
//   ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
//   ASSIGN_OR_RETURN(const NpuComparison comparison, CompareNpuFigures(profiles));
//   Print(NpuComparisonText(comparison));                    // tables; also as JSON, and drawn
//   Print(comparison.median_error, comparison.within, comparison.judged);
//
// Errors are those of compared_figure.h. The band: each assumed number alone goes to the least and the most of its range. The logarithms of
// the resulting changes add up as independent errors do, by the root of the sum of their squares, up and down apart. A figure near the
// calibration (the same graph on the same phone as figures that parameters were fitted to) is marked. The statistics are also given without
// such figures.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/compared_figure.h"
#include "tessera/apps/lab/papers/figures/profile_set.h"
#include "tessera/apps/lab/papers/npu/calibration.h"
#include "tessera/apps/lab/papers/npu/npu_predictions.h"

namespace tessera {

// The commit of the parameters behind all predictions: made before the first prediction. The parameters have not changed since.
inline constexpr char kParametersCommit[] = "1d42eec";

// The effect on predictions of 10 % more of a parameter, in all profiles.
struct Sensitivity {
  std::string parameter = {};
  int moved = 0;             // The number of predictions that move at all.
  std::string most = {};     // The id of the prediction that moves most. Empty: none.
  double change = 0;         // The change of this prediction, relative to the value.
};

// A question that no paper answers, and the predictions by the other answer.
struct OpenQuestion {
  std::string question = {};
  Sensitivity moves = {};                     // The question is named by `parameter`.
  struct Moved { std::string id = {}; Prediction prediction = {}; std::optional<double> error = {}; };
  std::vector<Moved> figures = {};            // Figures whose predictions move, in the order of the papers' list; errors as ComparedFigure.
  int within = 0, within_apart = 0;           // NpuComparison's statistics by the other answer.
  std::optional<double> median_error = {}, median_error_apart = {};
};

struct NpuComparison {
  std::vector<ComparedFigure> figures = {};   // In the order of the papers' list.
  int counted = 0;                            // Figures that count,
  int judged = 0;                             // counted figures with an error, or missed,
  int within = 0;                             // counted figures within kNearEnough,
  int missed = 0, bounds_kept = 0;
  std::optional<double> median_error = {};    // None: the median is a missed figure's, or there is no figure.
  int judged_apart = 0, within_apart = 0;     // The same without the figures near the calibration.
  std::optional<double> median_error_apart = {};
  std::vector<Sensitivity> sensitivity = {};  // By parameters, as ProfileFields() has them.
  OpenQuestion held_attention = {};           // NpuAssumptions::held_attention.
  std::vector<CalibrationFigure> calibration_figures = {};
  CalibrationErrors calibration = {};         // In the order of calibration_figures.
};

// Returns errors and statistics only, without bands, sensitivity and calibration. Used to see the effect of a changed profile or of another
// assumption.
absl::StatusOr<NpuComparison> CompareWithoutBands(const ProfileSet& profiles, KnownModels& models, const NpuAssumptions& assumptions = {});

// Returns the whole comparison. Errors: as the predictions.
absl::StatusOr<NpuComparison> CompareNpuFigures(const ProfileSet& profiles);

absl::StatusOr<std::vector<Sensitivity>> SensitivityOfPredictions(const ProfileSet& profiles, KnownModels& models);

// Answers an open question: how would the figures of `base` change if the CPU's attention in static graphs computed only the rows that hold
// tokens, instead of all rows of the graph? REQUIRES: `base` was made from these profiles.
absl::StatusOr<OpenQuestion> AskHeldAttention(const ProfileSet& profiles, const NpuComparison& base, KnownModels& models);

// Returns the text of ShownTables (shown_tables.h); `table`: a table's name. WrongUsage (table) for an unknown name.
absl::StatusOr<std::string> NpuComparisonText(const NpuComparison& comparison, absl::string_view table = "");
std::string NpuComparisonJson(const NpuComparison& comparison);
std::string NpuComparisonSvg(const NpuComparison& comparison);   // Predicted over published, logarithmic, with the band of kNearEnough.

}  // namespace tessera
