// Compares the one-for-all paper's figures with predictions, each with its error, for the tables and the JSON of a report.
//
//   for (const OnemodelFigure& figure : OnemodelFigures(report))
//     if (figure.error().has_value()) Print(figure.table, figure.what, figure.published, figure.prediction->low, *figure.error());
//   const OnemodelErrors errors = ErrorsOf(figures, Standing::kElsewhere);
//
// Thread-safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"

namespace tessera {

struct OnemodelFigure {
  int table = 0;
  std::string id = {}, what = {}, unit = {};
  std::string of = {};                                   // The use case, in table 6.
  double published = 0;
  bool counted = true;                                   // In statistics.
  std::string note = {};
  std::optional<OnemodelPrediction> prediction = {};     // None: the paper does not say enough.

  std::optional<double> error() const;                   // The geometric middle over the published figure, less 1.
};

// Returns the figures in the order of the tables. Table 6's have ids "004-6-" with the quantity's name, and the use case in `of`. Table 7's
// are the times of a pass by configuration, "004-7-3,2": medians of tokens per pass divided by tokens per second.
std::vector<OnemodelFigure> OnemodelFigures(const OnemodelReport& report);

struct OnemodelErrors { int figures = 0, within = 0; double median = 0; };   // within: within kNearEnough (compared_figure.h).
OnemodelErrors ErrorsOf(absl::Span<const OnemodelFigure> figures, Standing standing);

}  // namespace tessera
