// A line chart as SVG text: axes from zero with round ticks, a legend, curves with or without marks.
//
//   const Plot plot = {"Time of a pass", "rows", "ms", {{"ours", {{1, 2.1}, {2, 2.2}}}, {"bound", {{1, 2.5}, {2, 2.6}}, true}}};
//   RETURN_IF_ERROR(WriteFileAtomically("rows.svg", PlotSvg(plot)));
//
// Texts may hold any characters. Thread-safe (pure function).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct PlotCurve {
  std::string name;
  std::vector<std::pair<double, double>> points;   // In ascending order of x; nothing below zero.
  bool dashed = false;                             // Dashed, and without marks.
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<PlotCurve> curves;                   // The first four have a colour of their own.
};

std::string PlotSvg(const Plot& plot);

// Returns, for other charts, the step between the numbers on an axis from 0 to `largest`. The step is 1, 2 or 5 times a power of ten, for
// about six numbers.
double SvgTickStep(double largest);
std::string SvgEscaped(const std::string& text);

}  // namespace tessera
