#include "tessera/apps/lab/scale/report/frontier_chart.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/scale/report/chart_axis.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {
namespace {

constexpr double kWidth = 760, kLeft = 64, kRight = 24, kTop = 72, kArea = 340, kBottom = 52;
constexpr double kLetter = 7.2, kLine = 18, kKey = 18, kMark = 5;
constexpr size_t kColours = 6, kShapes = 5;

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double Overlap(const Box& other) const {
    const double width = std::min(right, other.right) - std::max(left, other.left);
    const double height = std::min(bottom, other.bottom) - std::max(top, other.top);
    return width > 0 && height > 0 ? width * height : 0;
  }
};

// Characters, not bytes.
double WidthOf(const std::string& text) {
  return kLetter * static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string MarkSvg(size_t shape, double x, double y, const std::string& classes, const std::string& title) {
  const double r = kMark;
  std::string mark;
  switch (shape % kShapes) {
    case 0: mark = absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, r); break;
    case 1: mark = absl::StrFormat("<path d=\"M%.1f %.1fh%.1fv%.1fh%.1fz\"", x - r, y - r, 2 * r, 2 * r, -2 * r); break;
    case 2: mark = absl::StrFormat("<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"", x, y - r - 1, r + 1, r + 1, -r - 1, r + 1,
                                   -r - 1, -r - 1); break;
    case 3: mark = absl::StrFormat("<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y - r - 1, r + 1, 2 * r, -2 * r - 2); break;
    default: mark = absl::StrFormat("<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y + r + 1, r + 1, -2 * r, -2 * r - 2); break;
  }
  return absl::StrCat(mark, " class=\"", classes, "\"><title>", SvgEscaped(title), "</title></",
                      shape % kShapes == 0 ? "circle" : "path", ">\n");
}

class Drawing {
 public:
  explicit Drawing(const FrontierChart& chart)
      : chart_(chart), legend_lines_(LayLegend()), top_(kTop + kLine * (legend_lines_ - 1)), x_(XAxis()), y_(YAxis()) {}

  std::string Draw() {
    absl::StrAppendFormat(&svg_, "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWidth, top_ + kArea + kBottom);
    absl::StrAppend(&svg_, "<title>", SvgEscaped(chart_.title), "</title>\n");
    Text(kLeft, 20, "start", "title", chart_.title);
    for (const Entry& entry : legend_) DrawEntry(entry);
    DrawAxes();
    for (const FrontierChart::Point& point : chart_.points) DrawInterval(point);
    DrawFrontier();
    for (const FrontierChart::Point& point : chart_.points) {
      absl::StrAppend(&svg_, MarkSvg(point.shape, x_.At(point.x), y_.At(point.y), Classes("mark", point), TitleOf(point)));
    }
    DrawLabels();
    return svg_ + "</svg>\n";
  }

 private:
  struct Entry { double x, y; size_t place; bool colour; };

  // Places the entries of colours and shapes. Returns the number of lines of the legend.
  double LayLegend() {
    double x = kLeft, y = 40;
    const auto lay = [&](const std::string& name, size_t place, bool colour) {
      const double width = kKey + WidthOf(name) + 14;
      if (x > kLeft && x + width > kWidth - kRight) x = kLeft, y += kLine;
      legend_.push_back({x, y, place, colour});
      x += width;
    };
    for (size_t i = 0; i < chart_.colours.size(); ++i) lay(chart_.colours[i], i, true);
    for (size_t i = 0; i < chart_.shapes.size(); ++i) lay(chart_.shapes[i], i, false);
    return (y - 40) / kLine + 1;
  }

  ChartAxis XAxis() const {
    std::vector<double> costs;
    for (const FrontierChart::Point& point : chart_.points) costs.push_back(point.x);
    return ChartAxis::Around(costs, kLeft, kWidth - kRight);
  }

  ChartAxis YAxis() const {
    double low = chart_.points.empty() ? 0 : chart_.points[0].low, high = low;
    for (const FrontierChart::Point& point : chart_.points) {
      low = std::min({low, point.low, point.y});
      high = std::max({high, point.high, point.y});
    }
    return ChartAxis::Between(low, high, top_ + kArea, top_);
  }

  static std::string Classes(const char* what, const FrontierChart::Point& point) {
    return absl::StrCat(what, " c", point.colour % kColours, point.on_frontier ? "" : " beaten");
  }
  std::string TitleOf(const FrontierChart::Point& point) const {
    return absl::StrFormat("%s: %.1f (%.1f to %.1f), %.4g %s", point.name, point.y, point.low, point.high, point.x, chart_.x_label);
  }

  void Text(double x, double y, const char* anchor, const char* classes, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n", x, y, anchor, classes,
                          SvgEscaped(text));
  }
  void Line(double x1, double y1, double x2, double y2, const std::string& classes) {
    absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, classes);
  }

  void DrawEntry(const Entry& entry) {
    const std::string& name = entry.colour ? chart_.colours[entry.place] : chart_.shapes[entry.place];
    if (entry.colour) {
      absl::StrAppendFormat(&svg_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" class=\"mark c%d\"/>\n", entry.x, entry.y - 10,
                            entry.place % kColours);
    } else {
      absl::StrAppend(&svg_, MarkSvg(entry.place, entry.x + kMark + 1, entry.y - 4, "key", name));
    }
    Text(entry.x + kKey, entry.y, "start", "name", name);
  }

  void DrawAxes() {
    const double bottom = top_ + kArea;
    for (const double tick : y_.ticks()) {
      Line(kLeft, y_.At(tick), kWidth - kRight, y_.At(tick), "grid");
      Text(kLeft - 8, y_.At(tick) + 4, "end", "tick", absl::StrFormat("%g", tick));
    }
    for (const double tick : x_.ticks()) {
      Line(x_.At(tick), bottom, x_.At(tick), bottom + 5, "axis");
      Text(x_.At(tick), bottom + 20, "middle", "tick", absl::StrFormat("%g", tick));
    }
    Line(kLeft, bottom, kWidth - kRight, bottom, "axis");
    Text((kLeft + kWidth - kRight) / 2, bottom + 42, "middle", "name", chart_.x_label);
    Text(8, top_ - 14, "start", "name", chart_.y_label);
  }

  void DrawInterval(const FrontierChart::Point& point) {
    const double x = x_.At(point.x);
    Line(x, y_.At(point.low), x, y_.At(point.high), Classes("interval", point));
  }

  void DrawFrontier() {
    std::string points;
    for (const FrontierChart::Point& point : chart_.points) {
      if (point.on_frontier) absl::StrAppendFormat(&points, "%.1f,%.1f ", x_.At(point.x), y_.At(point.y));
    }
    absl::StrAppend(&svg_, "<polyline class=\"frontier\" points=\"", points, "\"/>\n");
  }

  // Draws each label next to the point, at the place that covers the least of other labels and marks.
  void DrawLabels() {
    std::vector<Box> taken;
    for (const FrontierChart::Point& point : chart_.points) {
      const double x = x_.At(point.x), y = y_.At(point.y);
      taken.push_back({x - kMark, y - kMark, x + kMark, y + kMark});
    }
    for (const FrontierChart::Point& point : chart_.points) {
      if (!point.on_frontier) continue;
      const Box box = Place(x_.At(point.x), y_.At(point.y), WidthOf(point.label), taken);
      Text(box.left, box.bottom - 3, "start", "label", point.label);
      taken.push_back(box);
    }
  }

  Box Place(double x, double y, double width, const std::vector<Box>& taken) const {
    constexpr double kHigh = 14, kAway = 9, kRounding = 1e-6;
    // To the upper left of a frontier's point there are no beaten points.
    const std::array<std::pair<double, double>, 6> places = {{{x - kAway - width, y - kHigh}, {x + kAway, y + 2}, {x + kAway, y - kHigh},
                                                              {x - kAway - width, y + 2}, {x - width / 2, y - kHigh - kAway},
                                                              {x - width / 2, y + kAway}}};
    Box best = {};
    double least = -1;
    for (const auto& [left, top] : places) {
      const Box box = {left, top, left + width, top + kHigh};
      double covered = 0;
      for (const Box& other : taken) covered += box.Overlap(other);
      const Box area = {kLeft, top_ - 4, kWidth - 2, top_ + kArea};
      covered += 10 * (width * kHigh - box.Overlap(area));   // The part that would stand outside.
      if (least < 0 || covered < least - kRounding) least = covered, best = box;
    }
    return best;
  }

  const FrontierChart& chart_;
  std::vector<Entry> legend_ = {};
  const double legend_lines_, top_;
  const ChartAxis x_, y_;
  std::string svg_ = {};
};

}  // namespace

std::string FrontierChartSvg(const FrontierChart& chart) { return Drawing(chart).Draw(); }

std::string FrontierChartStyle() {
  return ":root{--c0:#1b6ca8;--c1:#b8430e;--c2:#3a7d44;--c3:#7a4fa3;--c4:#8a6a00;--c5:#0a7d86}"
         "@media (prefers-color-scheme:dark){:root{--c0:#6fb4ea;--c1:#f0915f;--c2:#7fc98a;--c3:#c19fe6;--c4:#d9b84a;--c5:#5cc8d0}}"
         ".c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}"
         ".chart{max-width:100%;height:auto;display:block;margin:1em 0;font:12px system-ui,sans-serif}"
         ".chart text{fill:var(--ink)}.chart .tick{fill:var(--faint)}.chart .title{font-weight:600;font-size:14px}"
         ".chart .label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}"
         ".chart .grid{stroke:var(--rule)}.chart .axis{stroke:var(--faint)}.chart .mark{fill:var(--c);stroke:var(--paper)}"
         ".chart .key{fill:none;stroke:var(--ink)}.chart .interval{stroke:var(--c);stroke-width:1.5}.chart .beaten{opacity:.4}"
         ".chart .frontier{fill:none;stroke:var(--ink);stroke-width:1.5}";
}

}  // namespace tessera
