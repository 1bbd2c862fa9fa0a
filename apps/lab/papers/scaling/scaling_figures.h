// Compares the test-time scaling paper's figures of test-time scaling with predictions, and gives the accuracies at which samples break
// even, for tables and JSON.
//
//   for (const ComparedFigure& figure : ScalingFigures(report)) Print(figure.what, PublishedText(figure), PredictedText(figure));
//   for (const BreakEven& one : BreakEvens(report)) Print(one.pair->small, one.set, one.accuracies[3]);   // "15.9 + 0.047 x (A - 15.9)"
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/lab/papers/figures/compared_figure.h"
#include "tessera/apps/lab/papers/scaling/scaling_report.h"

namespace tessera {

std::vector<ComparedFigure> ScalingFigures(const ScalingReport& report);

// The accuracies that the smaller model's samples need, by kScalingRows, where the paper's text gives its accuracy with one sample.
struct BreakEven {
  const ScalingPair* pair = nullptr;             // Points into the report.
  std::string set = {}, source = {};
  double one_sample = 0;                         // Percent.
  // Percent, with A for the larger model's accuracy with one sample. "-": none (see GapShare).
  std::vector<std::string> accuracies = {};
};
std::vector<BreakEven> BreakEvens(const ScalingReport& report);   // Valid as long as the report.

// Returns the largest accuracy gap between the pair's models, with one sample each, at which the smaller model's samples break even: the
// point's gain over one sample, divided by GapShare. The gap is in percentage points. "none": no gain. "any": 100 points or more, or a
// share of 0 or less. "-": no share, one sample, or more samples than kMostScalingSamples.
std::string LargestGap(const AccuracyPoint& point, const ScalingPair& pair);

}  // namespace tessera
