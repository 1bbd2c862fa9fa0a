// The chart of a frontier and its axes: places that lie in it, ticks that are round, texts that are no markup.
#include "tessera/apps/lab/scale/report/frontier_chart.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/lab/scale/report/chart_axis.h"

namespace tessera {
namespace {

TEST(ChartAxis, HeaderExample) {
  const ChartAxis axis = ChartAxis::Around({2.5, 40}, /*begin=*/60, /*end=*/700);
  EXPECT_GT(axis.At(10), 60);
  EXPECT_LT(axis.At(10), 700);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{5, 10, 20}));
  EXPECT_NEAR(axis.At(10) - axis.At(5), axis.At(20) - axis.At(10), 1e-9) << "powers";
}

TEST(ChartAxis, HasTicksWithinIts) {
  for (const auto& [least, most] : {std::pair(2.5, 40.0), {1.1, 3.4}, {0.03, 0.031}, {1e-6, 1e6}, {5.0, 5.0}, {0.9, 2.0}, {1.0, 100.0}}) {
    const ChartAxis axis = ChartAxis::Around({least, most}, 60, 700);
    EXPECT_GE(axis.At(least), 60) << least;
    EXPECT_LE(axis.At(most), 700) << most;
    EXPECT_GE(axis.ticks().size(), 2u) << least << " " << most;
    EXPECT_LE(axis.ticks().size(), 16u) << least << " " << most;
    EXPECT_TRUE(std::is_sorted(axis.ticks().begin(), axis.ticks().end()));
    for (const double tick : axis.ticks()) {
      EXPECT_TRUE(axis.At(tick) >= 59.9 && axis.At(tick) <= 700.1) << tick;
    }
  }
  EXPECT_FALSE(ChartAxis::Around({}, 60, 700).ticks().empty());
}

TEST(ChartAxis, BetweenGoesToWholeTicks) {
  const ChartAxis axis = ChartAxis::Between(3, 47, 400, 60);   // Upwards.
  EXPECT_EQ(axis.ticks().front(), 0);
  EXPECT_EQ(axis.ticks().back(), 50);
  EXPECT_EQ(axis.At(0), 400);
  EXPECT_EQ(axis.At(50), 60);
  EXPECT_GE(ChartAxis::Between(0, 0, 400, 60).ticks().size(), 2u);
}

FrontierChart Chart() {
  return {.title = "gsm8k", .x_label = "seconds per question", .y_label = "right, %", .colours = {"a model"}, .shapes = {"one", "majority"},
          .points = {{.label = "one", .name = "a model one", .x = 2, .y = 30, .low = 20, .high = 40, .on_frontier = true},
                     {.label = "majority 4", .name = "a model majority 4", .shape = 1, .x = 9, .y = 25, .low = 20, .high = 45},
                     {.label = "majority 8", .name = "a model majority 8", .shape = 1, .x = 12, .y = 45, .low = 35, .high = 55,
                      .on_frontier = true}}};
}

TEST(FrontierChart, HeaderExample) {
  const std::string svg = FrontierChartSvg(Chart());
  EXPECT_TRUE(absl::StartsWith(svg, "<svg "));
  for (const char* said : {">gsm8k<", ">seconds per question<", ">right, %<", ">one</text>", ">majority 8</text>", ">a model<",
                           "a model majority 4: 25.0 (20.0 to 45.0), 9 seconds per question"}) {
    EXPECT_TRUE(absl::StrContains(svg, said)) << said;
  }
  EXPECT_FALSE(absl::StrContains(svg, ">majority 4</text>")) << "what is beaten has no label";
  const std::vector<std::string> lines = absl::StrSplit(svg, "class=\"frontier\" points=\"");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(std::count(lines[1].begin(), lines[1].begin() + static_cast<int64_t>(lines[1].find('"')), ','), 2) << "a line of two points";
}

TEST(FrontierChart, EachPointHasAMarkAndAnInterval) {
  const std::string svg = FrontierChartSvg(Chart());
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(svg, "class=\"interval ")).size(), 4u);
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(svg, " beaten\"")).size(), 3u) << "a mark and an interval";
}

TEST(FrontierChart, IsSoundWithoutPointsAndWithMany) {
  EXPECT_TRUE(absl::StrContains(FrontierChartSvg({.title = "none"}), "</svg>"));
  FrontierChart chart = Chart();
  for (int i = 0; i < 300; ++i) {
    const double x = 0.001 * (i + 1);
    chart.points.push_back({.label = "p", .name = "p", .colour = static_cast<size_t>(i), .shape = static_cast<size_t>(i), .x = x, .y = 50,
                            .low = 0, .high = 100, .on_frontier = true});
  }
  const std::string svg = FrontierChartSvg(chart);
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
  EXPECT_FALSE(absl::StrContains(svg, "inf"));
}

TEST(FrontierChart, TextsAreNoMarkup) {
  FrontierChart chart = Chart();
  const std::string evil = "</text></svg><script>&";
  chart.title = chart.x_label = chart.y_label = chart.colours[0] = chart.shapes[0] = evil;
  for (FrontierChart::Point& point : chart.points) point.label = point.name = evil;
  const std::string svg = FrontierChartSvg(chart);
  EXPECT_FALSE(absl::StrContains(svg, "<script"));
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(svg, "</svg>")).size(), 2u);
}

TEST(FrontierChart, ItsStyleHasColoursForLightAndDarkPages) {
  const std::string style = FrontierChartStyle();
  EXPECT_TRUE(absl::StrContains(style, "prefers-color-scheme:dark"));
  EXPECT_EQ(std::count(style.begin(), style.end(), '{'), std::count(style.begin(), style.end(), '}'));
  for (const char* variable : {"--c0:", "--c5:"}) {
    EXPECT_EQ(std::vector<std::string>(absl::StrSplit(style, variable)).size(), 3u) << variable << " once for each";
  }
}

}  // namespace
}  // namespace tessera
