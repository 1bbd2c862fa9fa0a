// A chart of ranges as SVG text: a line for each name, from a low to a high value. A dot stands at the middle value, and a mark may stand
// beyond.
//
//   const RangeChart chart = {"Gains", "times plain decoding", "bound", {{"code", 1.2, 1.5, 1.9, 3.1}}};
//   RETURN_IF_ERROR(WriteFileAtomically("gains.svg", RangeChartSvg(chart)));
//
// The axis begins at zero, and a line stands at 1. Names, labels and title may be any text. Thread-safe (pure function).
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
  std::vector<ValueRange> ranges;  // From top to bottom; no value except `mark` may be below zero.
};

std::string RangeChartSvg(const RangeChart& chart);

}  // namespace tessera
