// A chart of configurations as SVG for a page: how often each is right over what it costs, with intervals, and a line along those that no
// other one beats.
//
//   const FrontierChart chart = {.title = "gsm8k", .x_label = "seconds per question", .y_label = "right, %", .colours = {"a model"},
//                                .shapes = {"one", "majority"}, .points = {{.label = "one", .x = 2, .y = 30, .low = 20, .high = 40}}};
//   page += FrontierChartSvg(chart);
//
// Points on the frontier have their labels beside them; a pointer over any point shows its name and figures. Colours and lines are classes
// and variables of FrontierChartStyle(), which has them for light and dark pages. A cost has an axis of powers where costs differ by much,
// else one of equal steps. Texts may hold any characters. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

struct FrontierChart {
  struct Point {
    std::string label = {};              // Short: colours say the rest.
    std::string name = {};
    size_t colour = 0, shape = 0;        // By their places below.
    double x = 0, y = 0;
    double low = 0, high = 0;            // The interval of y.
    bool on_frontier = false;
  };
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<std::string> colours = {};   // What they stand for. From the seventh on they come again.
  std::vector<std::string> shapes = {};    // From the sixth on, too.
  std::vector<Point> points = {};          // x above 0, nothing infinite. The line goes along the frontier in their order.
};

std::string FrontierChartSvg(const FrontierChart& chart);

// CSS for the page, once.
std::string FrontierChartStyle();

}  // namespace tessera
