// A chart of ranges as SVG text: a line for each name, from a low to a high value with a dot between, and a mark beyond.
//
//   const RangeChart chart = {"Gains", "times plain decoding", "bound", {{"code", 1.2, 1.5, 1.9, 3.1}}};
//   RETURN_IF_ERROR(WriteFileAtomically("gains.svg", RangeChartSvg(chart)));
//
// The axis begins at zero, and a line stands at 1. Any text may stand in it. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct ValueRange {
  std::string name;
  double low, middle, high;
  double mark;  // Below zero: none.
};

struct RangeChart {
  std::string title, x_label, mark_label;
  std::vector<ValueRange> ranges;  // From top to bottom; nothing but a mark below zero.
};

std::string RangeChartSvg(const RangeChart& chart);

}  // namespace tessera
