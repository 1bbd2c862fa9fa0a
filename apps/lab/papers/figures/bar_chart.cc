#include "tessera/apps/lab/papers/figures/bar_chart.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {

namespace {

constexpr double kArea = 300, kLeft = 64, kRight = 20, kTop = 80, kBottom = 130;   // Height of the bars' area, and margins.
constexpr double kBar = 28, kGap = 6, kBetween = 30;                               // Widths: a bar has room for its number.
// In the legend: a colour, and a letter next to the colour.
constexpr double kKey = 30, kLetter = 7;
constexpr const char* kColours[] = {"#1b6ca8", "#c1440e", "#e0a030", "#3a7d44", "#7a5195", "#888888"};

double Positive(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

class Drawing {
 public:
  explicit Drawing(const BarChart& chart) : chart_(chart) {
    for (const BarChart::Group& group : chart.groups) {
      width_ += kBetween + static_cast<double>(group.bars.size()) * (kBar + kGap);
      for (const BarChart::Bar& bar : group.bars) {
        double sum = 0;
        for (const double value : bar.values) sum += Positive(value);
        most_ = std::max(most_, sum);
      }
    }
    if (most_ <= 0) most_ = 1;
    double legend = kLeft + kRight;
    for (const std::string& part : chart.parts) legend += KeyWidth(part);
    width_ = std::max({width_, legend, kLetter * static_cast<double>(chart.title.size())});
  }

  std::string Draw() {
    const double height = kTop + kArea + kBottom;
    absl::StrAppendFormat(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" ", width_, height);
    absl::StrAppendFormat(&svg_, "width=\"%.0f\" height=\"%.0f\" ", width_, height);
    absl::StrAppend(&svg_, "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(width_ / 2, 20, "middle", chart_.title);
    Text(8, kTop - 20, "start", chart_.y_label);
    DrawLegend();
    DrawAxis();
    double x = kLeft + kBetween / 2;
    for (const BarChart::Group& group : chart_.groups) x = DrawGroup(group, x);
    return svg_ + "</svg>\n";
  }

 private:
  double Y(double value) const { return kTop + kArea * (1 - value / most_); }
  static double KeyWidth(const std::string& part) { return kKey + kLetter * static_cast<double>(part.size()); }
  static const char* Colour(size_t part) { return kColours[std::min(part, std::size(kColours) - 1)]; }

  void Text(double x, double y, const char* anchor, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, SvgEscaped(text));
  }

  void DrawLegend() {
    double x = kLeft;
    for (size_t part = 0; part < chart_.parts.size(); ++part) {
      absl::StrAppendFormat(&svg_, "<rect x=\"%.1f\" y=\"32\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, Colour(part));
      Text(x + 14, 41, "start", chart_.parts[part]);
      x += KeyWidth(chart_.parts[part]);
    }
  }

  void DrawAxis() {
    const double step = SvgTickStep(most_);
    for (int i = 0; i * step <= most_ * (1 + 1e-9); ++i) {
      const double y = Y(i * step);
      absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", kLeft, y,
                            width_ - kRight, y);
      Text(kLeft - 6, y + 4, "end", absl::StrFormat("%g", i * step));
    }
  }

  // Returns the x at which the next group begins.
  double DrawGroup(const BarChart::Group& group, double x) {
    const double begin = x;
    for (const BarChart::Bar& bar : group.bars) {
      double sum = 0;
      for (size_t part = 0; part < bar.values.size(); ++part) {
        const double value = Positive(bar.values[part]);
        absl::StrAppendFormat(&svg_, "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\"/>\n", x, Y(sum + value), kBar,
                              Y(sum) - Y(sum + value), Colour(part));
        sum += value;
      }
      const double middle = x + kBar / 2 + 4, foot = kTop + kArea + 8;
      absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" transform=\"rotate(-60 %.1f %.1f)\">%s</text>\n",
                            middle, foot, middle, foot, SvgEscaped(bar.name));
      Text(x + kBar / 2, Y(sum) - 3, "middle", absl::StrFormat("%.3g", sum));
      x += kBar + kGap;
    }
    Text((begin + x) / 2, kTop + kArea + kBottom - 10, "middle", group.name);
    return x + kBetween;
  }

  const BarChart& chart_;
  double width_ = kLeft + kRight, most_ = 0;
  std::string svg_ = {};
};

}  // namespace

std::string BarChartSvg(const BarChart& chart) { return Drawing(chart).Draw(); }

}  // namespace tessera
