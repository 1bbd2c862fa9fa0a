#include "tessera/apps/lab/papers/npu/calibration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/base/named_text.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr NamedText kFiles[] = {
#include "tessera/apps/lab/papers/npu/calibration.inc"
};
constexpr int64_t kMostTokens = int64_t{1} << 20;
constexpr double kStiffness = 0.05;   // STIFFNESS of scripts/npu/fit_profiles.py.
constexpr double kStep = 1e-3;        // For slopes, the change of a parameter's logarithm to either side.

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;   // By rows.

absl::Status ReadTime(const JsonValue& key, CalibrationFigure& figure) {
  ASSIGN_OR_RETURN(const std::vector<std::string> path, key.AsStrings());
  if (path == std::vector<std::string>{"pass_milliseconds", absl::StrCat(figure.rows)}) {
    figure.time = CalibrationFigure::Time::kPass;
  } else if (path == std::vector<std::string>{"first_token_milliseconds"}) {
    figure.time = CalibrationFigure::Time::kPrompt;
  } else if (path == std::vector<std::string>{"load_milliseconds"}) {
    figure.time = CalibrationFigure::Time::kLoad;
  } else {
    return key.Error("another path", "pass_milliseconds and the number of rows, first_token_milliseconds or load_milliseconds");
  }
  return absl::OkStatus();
}

absl::StatusOr<CalibrationFigure> ReadFigure(const JsonValue& json) {
  CalibrationFigure figure;
  ASSIGN_OR_RETURN(figure.device, json.String("device"));
  ASSIGN_OR_RETURN(figure.source, json.String("source"));
  ASSIGN_OR_RETURN(figure.milliseconds, json.Double("milliseconds"));
  if (!(figure.milliseconds > 0)) return json.Error(absl::StrCat(figure.milliseconds, " milliseconds"), "more than none");
  ASSIGN_OR_RETURN(const JsonValue ask, json.Object("ask"));
  ASSIGN_OR_RETURN(figure.shape, ask.String("shape"));
  ASSIGN_OR_RETURN(figure.recipe, ask.String("recipe"));
  ASSIGN_OR_RETURN(figure.context, ask.Int("context", 1, kMostTokens));
  ASSIGN_OR_RETURN(figure.prompt, ask.Int("prompt", 1, kMostTokens));
  ASSIGN_OR_RETURN(figure.chunk_rows, ask.IntOr("chunk_rows", figure.prompt, 1, kMostTokens));
  ASSIGN_OR_RETURN(const int64_t rank, ask.IntOr("adapter_rank", 0, 0, kMostTokens));
  figure.adapter_rank = static_cast<int>(rank);
  ASSIGN_OR_RETURN(const std::vector<int64_t> rows, ask.Ints("rows", 1, kMostTokens));
  if (rows.size() != 1) return ask.Error(absl::StrCat(rows.size(), " numbers of rows"), "one");
  figure.rows = rows[0];
  ASSIGN_OR_RETURN(const JsonValue key, json.Array("key"));
  RETURN_IF_ERROR(ReadTime(key, figure));
  return figure;
}

absl::StatusOr<double> SecondsOf(const CalibrationFigure& figure, CosterCache& costers) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, costers.Of({.device = figure.device,
                                                               .style = "static",
                                                               .shape = figure.shape,
                                                               .recipe = figure.recipe,
                                                               .context = figure.context,
                                                               .adapter_rank = figure.adapter_rank}));
  if (figure.time == CalibrationFigure::Time::kLoad) return coster->LoadSeconds();
  if (figure.time == CalibrationFigure::Time::kPrompt) {
    ASSIGN_OR_RETURN(const PassCost prompt, coster->OfPrompt(figure.prompt, figure.chunk_rows));
    return prompt.seconds;
  }
  const PassShape shape = {
      .rows = figure.rows, .positions = std::min(figure.context, figure.prompt + figure.rows), .logit_rows = figure.rows};
  ASSIGN_OR_RETURN(const PassCost pass, coster->Of(shape));
  return pass.seconds;
}

// Returns log(predicted / published).
absl::StatusOr<Vector> Residuals(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles, KnownModels& models) {
  ASSIGN_OR_RETURN(Vector residuals, PredictCalibration(figures, profiles, models));
  for (size_t i = 0; i < figures.size(); ++i) residuals[i] = std::log(residuals[i] / figures[i].milliseconds);
  return residuals;
}

// Returns the slopes of each figure's logarithm by each parameter's logarithm.
absl::StatusOr<Matrix> Slopes(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles, KnownModels& models) {
  Matrix slopes(figures.size());
  for (const MovedParameter& moved : FittedParameters(profiles)) {
    ASSIGN_OR_RETURN(const Vector up, Residuals(figures, Times(profiles, moved.name, std::exp(kStep), moved.devices), models));
    ASSIGN_OR_RETURN(const Vector down, Residuals(figures, Times(profiles, moved.name, std::exp(-kStep), moved.devices), models));
    for (size_t i = 0; i < figures.size(); ++i) slopes[i].push_back((up[i] - down[i]) / (2 * kStep));
  }
  return slopes;
}

double Dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Computes L of A = L L', in its lower half, for A = slopes' slopes + stiffness^2: positive, so that no root fails.
Matrix CholeskyOf(const Matrix& slopes, size_t size) {
  Matrix lower(size, Vector(size));
  for (size_t row = 0; row < size; ++row) {
    for (size_t column = 0; column <= row; ++column) {
      double sum = row == column ? kStiffness * kStiffness : 0;
      for (const Vector& slope : slopes) sum += slope[row] * slope[column];
      for (size_t k = 0; k < column; ++k) sum -= lower[row][k] * lower[column][k];
      lower[row][column] = row == column ? std::sqrt(sum) : sum / lower[column][column];
    }
  }
  return lower;
}

// Computes x' A^-1 x = |L^-1 x|^2.
double Leverage(const Matrix& lower, const Vector& x) {
  Vector solved(x.size());
  for (size_t row = 0; row < x.size(); ++row) {
    double sum = x[row];
    for (size_t k = 0; k < row; ++k) sum -= lower[row][k] * solved[k];
    solved[row] = sum / lower[row][row];
  }
  return Dot(solved, solved);
}

}  // namespace

absl::StatusOr<std::vector<CalibrationFigure>> ParseCalibration(absl::string_view text, absl::string_view source) {
  std::vector<CalibrationFigure> figures;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(line, absl::StrCat(source, ", line ", number)));
    ASSIGN_OR_RETURN(CalibrationFigure figure, ReadFigure(json));
    figures.push_back(std::move(figure));
  }
  return figures;
}

absl::StatusOr<std::vector<CalibrationFigure>> CalibrationFigures() {
  return ParseCalibration(std::begin(kFiles)->text, absl::StrCat(std::begin(kFiles)->name, ".jsonl"));
}

absl::StatusOr<std::vector<double>> PredictCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                       KnownModels& models) {
  CosterCache costers(profiles, models);
  Vector milliseconds;
  for (const CalibrationFigure& figure : figures) {
    ASSIGN_OR_RETURN(const double seconds, SecondsOf(figure, costers));
    milliseconds.push_back(seconds * 1e3);
  }
  return milliseconds;
}

double CalibrationErrors::MedianOf(const std::vector<double>& errors) {
  if (errors.empty()) return 0;
  Vector sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  const auto middle = sizes.begin() + static_cast<int64_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

double CalibrationErrors::WorstOf(const std::vector<double>& errors) {
  double worst = 0;
  for (const double error : errors) worst = std::max(worst, std::abs(error));
  return worst;
}

absl::StatusOr<CalibrationErrors> ErrorsOfCalibration(const std::vector<CalibrationFigure>& figures, const ProfileSet& profiles,
                                                      KnownModels& models) {
  ASSIGN_OR_RETURN(const Vector residuals, Residuals(figures, profiles, models));
  ASSIGN_OR_RETURN(const Matrix slopes, Slopes(figures, profiles, models));
  CalibrationErrors errors = {.parameters = static_cast<int>(FittedParameters(profiles).size())};
  const Matrix lower = CholeskyOf(slopes, static_cast<size_t>(errors.parameters));
  for (size_t i = 0; i < figures.size(); ++i) {
    errors.in_sample.push_back(std::expm1(residuals[i]));
    errors.left_out.push_back(std::expm1(residuals[i] / (1 - Leverage(lower, slopes[i]))));
  }
  return errors;
}

}  // namespace tessera
