// Bars as SVG: as high as their values, nothing from values that are none, texts escaped.
#include "tessera/apps/lab/papers/figures/bar_chart.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace tessera {
namespace {

TEST(BarChart, HeaderExample) {
  const BarChart chart = {"Time", "ms per token", {"prompt", "passes"}, {{"1.5b", {{"NPU", {10, 90}}, {"full", {12, 30}}}}}};
  const std::string svg = BarChartSvg(chart);
  EXPECT_TRUE(absl::StartsWith(svg, "<svg "));
  for (const char* said : {"Time", "ms per token", "prompt", "passes", "1.5b", "NPU", "full", ">100<", ">42<"}) {
    EXPECT_TRUE(absl::StrContains(svg, said)) << said;
  }
}

TEST(BarChart, PartsAreAsHighAsTheirValues) {
  // The area is 300 high, and 100 the most.
  const std::string svg = BarChartSvg({.parts = {"a", "b"}, .groups = {{"g", {{"x", {25, 75}}, {"y", {50, 0}}}}}});
  EXPECT_TRUE(absl::StrContains(svg, "height=\"75.00\""));
  EXPECT_TRUE(absl::StrContains(svg, "height=\"225.00\""));
  EXPECT_TRUE(absl::StrContains(svg, "height=\"150.00\""));
}

TEST(BarChart, IsAsWideAsItsLegendNeeds) {
  // 64 and 20 beside it, 30 for each colour, 7 for each of 49 letters.
  const std::string svg = BarChartSvg({.parts = {"prompt", "waiting for graphs", "calibration", "drafting", "passes"},
                                       .groups = {{"g", {{"x", {25, 75, 1, 1, 1}}}}}});
  EXPECT_TRUE(absl::StrContains(svg, "viewBox=\"0 0 577 510\" width=\"577\" height=\"510\"")) << svg;
}

TEST(BarChart, AValueThatIsNoHeightDrawsNoBar) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::string svg = BarChartSvg({.groups = {{"g", {{"x", {nan, -1, infinite}}}}}});
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
  EXPECT_FALSE(absl::StrContains(svg, "inf"));
  EXPECT_FALSE(absl::StrContains(svg, "height=\"-"));
  EXPECT_TRUE(absl::StartsWith(BarChartSvg({}), "<svg "));
}

TEST(BarChart, TextsAreEscaped) {
  const std::string svg = BarChartSvg({.title = "<a&b>", .groups = {{"g<", {{"b&", {1}}}}}});
  EXPECT_FALSE(absl::StrContains(svg, "<a"));
  EXPECT_TRUE(absl::StrContains(svg, "&lt;a&amp;b"));
}

}  // namespace
}  // namespace tessera
