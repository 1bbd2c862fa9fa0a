#include "tessera/apps/bench/spec/svg_ranges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {
namespace {

constexpr int kWidth = 720, kLeft = 130, kRight = 20, kTop = 56, kBottom = 48, kLine = 24;

class Drawing {
 public:
  explicit Drawing(const RangeChart& chart) : chart_(chart), bottom_(kTop + kLine * static_cast<int>(chart.ranges.size())) {
    for (const ValueRange& range : chart.ranges) most_ = std::max({most_, range.high, range.mark});
  }

  std::string Draw() {
    absl::StrAppendFormat(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" ", kWidth, bottom_ + kBottom);
    absl::StrAppend(&svg_,
                    "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(kWidth / 2.0, 20, "middle", chart_.title);
    Text(kWidth / 2.0, 40, "middle", absl::StrCat("line: quartiles, dot: median, dash: ", chart_.mark_label));
    Text(kWidth / 2.0, bottom_ + 40, "middle", chart_.x_label);
    const double step = SvgTickStep(most_);
    for (double x = 0; x <= most_; x += step) {
      Line(x, kTop, x, bottom_, "stroke=\"#dddddd\"");
      Text(X(x), bottom_ + 18, "middle", absl::StrFormat("%g", x));
    }
    Line(1, kTop, 1, bottom_, "stroke=\"black\"");
    for (size_t i = 0; i < chart_.ranges.size(); ++i) DrawRange(chart_.ranges[i], kTop + kLine * (i + 0.5));
    return svg_ + "</svg>\n";
  }

 private:
  double X(double value) const { return kLeft + value / most_ * (kWidth - kLeft - kRight); }
  void Text(double x, double y, const char* anchor, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, SvgEscaped(text));
  }
  void Line(double from, double y1, double to, double y2, const char* style) {
    absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", X(from), y1, X(to), y2, style);
  }
  void DrawRange(const ValueRange& range, double y) {
    Text(kLeft - 8, y + 4, "end", range.name);
    Line(range.low, y, range.high, y, "stroke=\"#1b6ca8\" stroke-width=\"4\"");
    absl::StrAppendFormat(&svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"#1b6ca8\"/>\n", X(range.middle), y);
    if (range.mark >= 0) Line(range.mark, y - 8, range.mark, y + 8, "stroke=\"#c1440e\" stroke-width=\"2\"");
  }

  const RangeChart& chart_;
  const int bottom_;
  double most_ = 1;
  std::string svg_;
};

}  // namespace

std::string RangeChartSvg(const RangeChart& chart) { return Drawing(chart).Draw(); }

}  // namespace tessera
