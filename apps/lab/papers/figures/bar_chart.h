// Draws bars in groups as SVG text. Each bar consists of parts on top of one another.
//
//   const BarChart chart = {"Time", "ms per token", {"prompt", "passes"}, {{"1.5b", {{"NPU", {10, 90}}, {"full", {12, 30}}}}}};
//   RETURN_IF_ERROR(WriteTextFile("bars.svg", BarChartSvg(chart)));
//
// The picture is as wide as its bars need, in pixels. Texts may hold any characters. A value that is below zero or not finite counts as
// zero. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

struct BarChart {
  struct Bar {
    std::string name = {};
    std::vector<double> values = {};   // By part, from below.
  };
  struct Group {
    std::string name = {};
    std::vector<Bar> bars = {};
  };
  std::string title = {}, y_label = {};
  std::vector<std::string> parts = {};   // The first six have a colour of their own.
  std::vector<Group> groups = {};
};

std::string BarChartSvg(const BarChart& chart);

}  // namespace tessera
