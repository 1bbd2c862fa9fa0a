#include "tessera/apps/show/svg_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tessera {
namespace {

constexpr int kWidth = 720, kHeight = 440;
constexpr int kLeft = 64, kRight = 20, kTop = 40, kBottom = 52;   // Margins around the area of the curves.
constexpr int kTicks = 6;                                         // About this number per axis.
constexpr int kEdge = 12, kKey = 34, kLine = 18, kLetter = 7;     // In the legend: the distance, a piece of curve, a line, a letter.
constexpr const char* kColours[] = {"#1b6ca8", "#888888", "#c1440e", "#3a7d44"};

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    for (const PlotCurve& curve : plot.curves) {
      for (const auto& [x, y] : curve.points) most_x_ = std::max(most_x_, x), most_y_ = std::max(most_y_, y);
    }
    if (most_x_ <= 0) most_x_ = 1;
    if (most_y_ <= 0) most_y_ = 1;
    PlaceLegend();
  }

  std::string Draw() {
    absl::StrAppendFormat(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" ", kWidth, kHeight);
    absl::StrAppend(&svg_, "font-family=\"sans-serif\" font-size=\"12\">\n",
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(kWidth / 2.0, 24, "middle", plot_.title);
    Text(kWidth / 2.0, kHeight - 12, "middle", plot_.x_label);
    Text(8, kTop - 10, "start", plot_.y_label);
    DrawAxes();
    for (size_t i = 0; i < plot_.curves.size(); ++i) DrawCurve(plot_.curves[i], static_cast<int>(i));
    return svg_ + "</svg>\n";
  }

 private:
  double X(double x) const { return kLeft + x / most_x_ * (kWidth - kLeft - kRight); }
  double Y(double y) const { return kHeight - kBottom - y / most_y_ * (kHeight - kTop - kBottom); }

  void Text(double x, double y, const char* anchor, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, SvgEscaped(text));
  }
  void Line(double x1, double y1, double x2, double y2, const char* style) {
    absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
  }
  void DrawAxes() {
    const double step_x = SvgTickStep(most_x_), step_y = SvgTickStep(most_y_);
    for (double y = 0; y <= most_y_; y += step_y) {
      Line(X(0), Y(y), X(most_x_), Y(y), "stroke=\"#dddddd\"");
      Text(kLeft - 6, Y(y) + 4, "end", absl::StrFormat("%g", y));
    }
    for (double x = 0; x <= most_x_; x += step_x) Text(X(x), kHeight - kBottom + 18, "middle", absl::StrFormat("%g", x));
    Line(X(0), Y(0), X(most_x_), Y(0), "stroke=\"black\"");
    Line(X(0), Y(0), X(0), Y(most_y_), "stroke=\"black\"");
  }
  void DrawCurve(const PlotCurve& curve, int number) {
    const char* colour = kColours[number % std::size(kColours)];
    const std::string style = absl::StrFormat("fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s", colour,
                                              curve.dashed ? " stroke-dasharray=\"6 4\"" : "");
    std::string points;
    for (const auto& [x, y] : curve.points) absl::StrAppendFormat(&points, "%.1f,%.1f ", X(x), Y(y));
    absl::StrAppend(&svg_, "<polyline points=\"", points, "\" ", style, "/>\n");
    for (const auto& [x, y] : curve.points) {
      if (curve.dashed) break;
      absl::StrAppendFormat(&svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", X(x), Y(y), colour);
    }
    const double y = kTop + 16 + kLine * number;
    Line(legend_x_, y - 4, legend_x_ + kKey - 6, y - 4, style.c_str());
    Text(legend_x_ + kKey, y, "start", curve.name);
  }

  // Places the legend on the left, which rising curves do not reach. If curves cross the legend there, and not on the right, places the
  // legend on the right.
  void PlaceLegend() {
    double letters = 0;
    for (const PlotCurve& curve : plot_.curves) letters = std::max(letters, static_cast<double>(curve.name.size()));
    const double width = kKey + kLetter * letters, right = kWidth - kRight - kEdge - width;
    if (CurvesCross(legend_x_, width) && !CurvesCross(right, width)) legend_x_ = right;
  }
  // Returns whether a curve runs through a legend there.
  bool CurvesCross(double left, double width) const {
    constexpr int kSteps = 64;   // From point to point.
    const double bottom = kTop + kEdge + kLine * static_cast<double>(plot_.curves.size());
    for (const PlotCurve& curve : plot_.curves) {
      for (size_t i = 0; i + 1 < curve.points.size(); ++i) {
        const auto& [x1, y1] = curve.points[i];
        const auto& [x2, y2] = curve.points[i + 1];
        for (int step = 0; step <= kSteps; ++step) {
          const double share = static_cast<double>(step) / kSteps, x = X(x1 + share * (x2 - x1)), y = Y(y1 + share * (y2 - y1));
          if (x >= left && x <= left + width && y <= bottom) return true;
        }
      }
    }
    return false;
  }

  const Plot& plot_;
  double most_x_ = 0, most_y_ = 0;
  double legend_x_ = kLeft + kEdge;
  std::string svg_;
};

}  // namespace

std::string PlotSvg(const Plot& plot) { return Drawing(plot).Draw(); }

double SvgTickStep(double largest) {
  const double rough = largest / kTicks, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string SvgEscaped(const std::string& text) { return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}); }

}  // namespace tessera
