#include "tessera/apps/lab/papers/scaling/scaling_figures.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

constexpr double kMostPoints = 100;

ComparedFigure FigureOf(const ScalingReport& report, const PublishedFigure& published) {
  const auto found = std::find_if(report.predictions.begin(), report.predictions.end(),
                                  [&](const Prediction& prediction) { return prediction.id == published.id; });
  return CompareFigure(published, found == report.predictions.end() ? nullptr : &*found);
}

}  // namespace

std::vector<ComparedFigure> ScalingFigures(const ScalingReport& report) {
  std::vector<ComparedFigure> figures;
  for (const PublishedFigure& published : PublishedNpuFigures()) {
    if (absl::string_view(published.id) == "001-head-share") figures.push_back(FigureOf(report, published));
  }
  for (const PublishedFigure& published : PublishedScalingFigures()) figures.push_back(FigureOf(report, published));
  return figures;
}

std::vector<BreakEven> BreakEvens(const ScalingReport& report) {
  std::vector<BreakEven> all;
  for (const ScalingPair& pair : report.pairs) {
    for (const PublishedAccuracy& published : PublishedBaseAccuracies()) {
      if (pair.small != published.shape) continue;
      BreakEven one = {.pair = &pair, .set = published.set, .source = published.source, .one_sample = published.percent};
      for (const int samples : kScalingRows) {
        const std::optional<double> share = pair.GapShare(samples);
        one.accuracies.push_back(
            share.has_value() ? absl::StrFormat("%.1f + %.3f x (A - %.1f)", published.percent, *share, published.percent) : "-");
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::string LargestGap(const AccuracyPoint& point, const ScalingPair& pair) {
  if (point.samples < 2 || point.samples > kMostScalingSamples) return "-";
  const std::optional<double> share = pair.GapShare(point.samples);
  if (!share.has_value()) return "-";
  if (point.gain.mean <= 0) return "none";
  const double points = 100 * point.gain.mean / *share;
  return *share <= 0 || points >= kMostPoints ? "any" : absl::StrFormat("%.1f", points);
}

}  // namespace tessera
