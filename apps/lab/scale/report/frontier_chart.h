// A chart of configurations as SVG for a page: the share of right answers over the cost, with intervals. A line goes along the
// configurations that no other configuration beats.
//
//   const FrontierChart chart = {.title = "gsm8k", .x_label = "seconds per question", .y_label = "right, %", .colours = {"a model"},
//                                .shapes = {"one", "majority"}, .points = {{.label = "one", .x = 2, .y = 30, .low = 20, .high = 40}}};
//   page += FrontierChartSvg(chart);
//
// Points on the frontier have a label next to the point. A pointer over any point shows the point's name and figures. Colours and lines are
// classes and variables of FrontierChartStyle(), for light and dark pages. The axis of costs has steps of powers if costs differ by much,
// else equal steps. Texts may hold any characters. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

struct FrontierChart {
  struct Point {
    std::string label = {};              // Short: colours say the rest.
    std::string name = {};
    size_t colour = 0, shape = 0;        // Places in the lists below.
    double x = 0, y = 0;
    double low = 0, high = 0;            // The interval of y.
    bool on_frontier = false;
  };
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<std::string> colours = {};   // Meanings of the colours. From the seventh on the colours repeat.
  std::vector<std::string> shapes = {};    // Meanings of the shapes. From the sixth on the shapes repeat.
  std::vector<Point> points = {};          // x above 0, nothing infinite. The line visits the frontier in this order.
};

std::string FrontierChartSvg(const FrontierChart& chart);

// Returns the CSS, needed once per page.
std::string FrontierChartStyle();

}  // namespace tessera
