// The test-time scaling paper's figures of test-time scaling beside predictions, and the accuracies at which samples break even: what
// tables and JSON show.
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

// What of the smaller model's samples has to be right, by kScalingRows, where the paper's text says what it answers right with one sample.
struct BreakEven {
  const ScalingPair* pair = nullptr;             // The report's.
  std::string set = {}, source = {};
  double one_sample = 0;                         // Percent.
  std::vector<std::string> accuracies = {};      // Percent, with A for the larger model's of one sample. "-": none (see GapShare).
};
std::vector<BreakEven> BreakEvens(const ScalingReport& report);   // Valid as long as the report.

// The largest gap in points, between one sample of both models, at which this point of a curve breaks even on a pair: its gain by the
// pair's share. "none" where nothing is gained, "any" for 100 points and more, "-" where there is no share, or more samples than
// kMostScalingSamples.
std::string LargestGap(const AccuracyPoint& point, const ScalingPair& pair);

}  // namespace tessera
