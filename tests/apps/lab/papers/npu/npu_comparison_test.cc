// What papers say about NPUs beside predictions: nothing is left out, nothing published is known to what predicts, and a wrong cost shows.
#include "tessera/apps/lab/papers/npu/npu_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/lab/papers/figures/phone_costs.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

const NpuComparison& Comparison() {
  static const NpuComparison comparison = Must(CompareNpuFigures(Profiles()));
  return comparison;
}

const ComparedFigure& FigureNamed(const NpuComparison& comparison, const std::string& id) {
  const auto found = std::find_if(comparison.figures.begin(), comparison.figures.end(),
                                  [&](const ComparedFigure& figure) { return figure.id == id; });
  CHECK(found != comparison.figures.end()) << id;
  return *found;
}

TEST(NpuComparison, HeaderExample) {
  const NpuComparison& comparison = Comparison();
  EXPECT_TRUE(absl::StrContains(Must(NpuComparisonText(comparison, "all")), "parameters as committed in"));
  EXPECT_TRUE(JsonValue::Parse(NpuComparisonJson(comparison), "comparison").ok());
  EXPECT_TRUE(absl::StartsWith(NpuComparisonSvg(comparison), "<svg "));
}

TEST(NpuComparison, EveryFigureThatCountsIsPredictedOrMissed) {
  std::set<std::string> ids;
  for (const ComparedFigure& figure : Comparison().figures) {
    EXPECT_TRUE(ids.insert(figure.id).second) << figure.id << " twice";
    EXPECT_LE(figure.published_low, figure.published_high) << figure.id;
    EXPECT_GT(figure.published_low, 0) << figure.id;
    EXPECT_TRUE(figure.counted || !figure.reason.empty()) << figure.id;
    if (!figure.prediction.has_value()) continue;
    EXPECT_FALSE(figure.prediction->asked.empty()) << figure.id;
    EXPECT_GT(figure.prediction->low, 0) << figure.id;
    EXPECT_LE(figure.prediction->low, figure.prediction->high) << figure.id;
    EXPECT_TRUE(std::isfinite(figure.prediction->high)) << figure.id;
  }
  KnownModels models;
  for (const Prediction& prediction : Must(PredictNpuFigures(Profiles(), {}, models))) {
    EXPECT_EQ(ids.count(prediction.id), 1u) << prediction.id << " is no published figure";
  }
}

TEST(NpuComparison, CountsTheShownFigures) {
  const NpuComparison& comparison = Comparison();
  int counted = 0, kept = 0, missed = 0, within = 0, near = 0, near_within = 0;
  for (const ComparedFigure& figure : comparison.figures) {
    if (!figure.counted) continue;
    ++counted;
    kept += figure.bound_kept() ? 1 : 0;
    missed += figure.missed() ? 1 : 0;
    within += figure.error.has_value() && std::abs(*figure.error) <= kNearEnough ? 1 : 0;
    near += figure.near_calibration && !figure.bound_kept() ? 1 : 0;
    near_within += figure.near_calibration && figure.error.has_value() && std::abs(*figure.error) <= kNearEnough ? 1 : 0;
    EXPECT_TRUE(!figure.bound_kept() || figure.bound != ComparedFigure::Bound::kNone) << figure.id;
  }
  EXPECT_GE(counted, 25);
  EXPECT_EQ(comparison.counted, counted);
  EXPECT_EQ(comparison.judged, counted - kept);
  EXPECT_EQ(comparison.bounds_kept, kept);
  EXPECT_EQ(comparison.missed, missed);
  EXPECT_EQ(comparison.within, within);
  EXPECT_EQ(comparison.judged_apart, comparison.judged - near);
  EXPECT_EQ(comparison.within_apart, within - near_within);
}

// The calibration has the graph of the one-for-all paper's 1B on the S24: what else the paper says of it is hardly predicted.
TEST(NpuComparison, FiguresNearTheCalibrationAreMarked) {
  for (const ComparedFigure& figure : Comparison().figures) {
    EXPECT_EQ(figure.near_calibration, absl::StartsWith(figure.id, "004-")) << figure.id;
  }
  EXPECT_GE(Comparison().judged_apart, 10);
  const std::string text = Must(NpuComparisonText(Comparison(), "all"));
  EXPECT_TRUE(absl::StrContains(text, "004-step-1 *"));
  EXPECT_EQ(Comparison().judged - Comparison().judged_apart, 11);
  EXPECT_TRUE(absl::StrContains(text, "without those near the calibration  ")) << text;
}

TEST(NpuComparison, BandsHoldTheirPredictions) {
  int wide = 0;
  for (const ComparedFigure& figure : Comparison().figures) {
    if (!figure.prediction.has_value()) continue;
    const double middle = MiddleOf(figure.prediction->low, figure.prediction->high);
    EXPECT_LE(figure.band_low, middle * (1 + 1e-12)) << figure.id;
    EXPECT_GE(figure.band_high, middle * (1 - 1e-12)) << figure.id;
    wide += figure.band_high > 1.01 * figure.band_low ? 1 : 0;
  }
  EXPECT_GT(wide, 10) << "much is assumed";
}

// No paper says whether attention of the CPU takes the empty rows of a static graph: what the other answer does is shown, and that alone.
TEST(NpuComparison, AttentionOfTheRowsThatAreThereIsShownBesideTheRest) {
  const OpenQuestion& question = Comparison().held_attention;
  EXPECT_EQ(question.moves.moved, static_cast<int>(question.figures.size()));
  EXPECT_GT(std::abs(question.moves.change), 0.05) << question.moves.most;
  std::set<std::string> moved;
  for (const OpenQuestion::Moved& one : question.figures) moved.insert(one.id);
  EXPECT_EQ(moved.count("000-ablation-npu"), 1u) << "tokens one by one, in a graph of 32 rows";
  EXPECT_EQ(moved.count("000-verify-32"), 0u) << "all of its rows hold something";
  EXPECT_EQ(moved.count("004-step-1"), 0u) << "attention is the NPU's";
  const auto by_other_answer = [&](const std::string& id) {
    return std::find_if(question.figures.begin(), question.figures.end(), [&](const auto& one) { return one.id == id; })->prediction.low;
  };
  for (const char* const id : {"000-ablation-npu", "000-ablation-graph"}) {
    EXPECT_LT(by_other_answer(id), 0.95 * FigureNamed(Comparison(), id).prediction->low) << id;
  }
  const std::string text = Must(NpuComparisonText(Comparison(), "all"));
  EXPECT_TRUE(absl::StrContains(text, "(instead: attention of rows")) << text;
  EXPECT_TRUE(absl::StrContains(text, "\ninstead: ")) << text;
  KnownModels models;
  const Prediction as_published = Must(PredictNpuFigures(Profiles(), {}, models)).front();
  EXPECT_EQ(FigureNamed(Comparison(), as_published.id).prediction->low, as_published.low) << "only the printer asks otherwise";
}

TEST(NpuComparison, AWrongCostShows) {
  KnownModels models;
  const NpuComparison right = Must(CompareWithoutBands(Profiles(), models));
  const NpuComparison wrong = Must(CompareWithoutBands(Times(Profiles(), "dma_bytes_per_second", 0.5), models));
  EXPECT_GT(FigureNamed(wrong, "004-step-1").prediction->low, 1.2 * FigureNamed(right, "004-step-1").prediction->low);
  EXPECT_NE(wrong.median_error, right.median_error);
  EXPECT_EQ(FigureNamed(right, "004-step-1").prediction->low, FigureNamed(Comparison(), "004-step-1").prediction->low);
}

// What predictions take for granted, so that requests need few costs.
TEST(NpuComparison, GraphsWithAttentionOnTheCpuTakeALineOverPositions) {
  const auto phone = Must(PhoneCosts::Open(Profiles().at("8gen2"), "qwen2.5-1.5b"));
  const RequestCosts costs = phone->costs();
  for (const int rows : {32, 256}) {
    const double near = Must(costs.layer_run(rows, 1)).seconds, far = Must(costs.layer_run(rows, 4096)).seconds;
    for (const int64_t positions : {300, 1024, 2049}) {
      const double line = near + (far - near) * static_cast<double>(positions - 1) / 4095;
      EXPECT_NEAR(Must(costs.layer_run(rows, positions)).seconds, line, 1e-6 * line) << rows << " rows, " << positions << " positions";
    }
  }
}

TEST(NpuComparison, AMiddleIsGeometric) {
  EXPECT_EQ(MiddleOf(3, 3), 3);
  EXPECT_DOUBLE_EQ(MiddleOf(2, 8), 4);
}

}  // namespace
}  // namespace tessera
