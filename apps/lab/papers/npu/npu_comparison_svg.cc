// Draws a comparison: predictions over published figures, both axes logarithmic.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {
namespace {

constexpr int kSize = 640, kMargin = 60;
constexpr const char* kColours[] = {"#1b6ca8", "#c1440e", "#3a7d44", "#888888"};
constexpr const char* kPapers[] = {"000", "001", "003", "004"};   // As in the figures' sources.
constexpr const char* kPaperNames[] = {"sd.npu", "test-time scaling", "sd.npu, RAG version", "one-for-all"};

class Drawing {
 public:
  explicit Drawing(const NpuComparison& comparison) : comparison_(comparison) {
    double least = 1, most = 10;
    for (const ComparedFigure& figure : comparison.figures) {
      if (!figure.prediction.has_value() || !figure.counted) continue;
      for (const double value : {Published(figure), Predicted(figure)}) least = std::min(least, value), most = std::max(most, value);
    }
    low_ = std::floor(std::log10(least));
    high_ = std::ceil(std::log10(most));
  }

  std::string Draw() {
    absl::StrAppendFormat(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" ", kSize, kSize);
    absl::StrAppend(&svg_, "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(kSize / 2.0, 24, "middle", "Figures of papers and their predictions");
    Text(kSize / 2.0, kSize - 14, "middle", "published (ms, ms per token, times, %, GB)");
    Text(8, kMargin - 10, "start", "predicted");
    for (double power = low_; power <= high_; ++power) DrawTick(std::pow(10, power));
    DrawRatio(1, "stroke=\"black\"");
    DrawRatio(1 + kNearEnough, "stroke=\"#888888\" stroke-dasharray=\"6 4\"");
    DrawRatio(1 - kNearEnough, "stroke=\"#888888\" stroke-dasharray=\"6 4\"");
    for (const ComparedFigure& figure : comparison_.figures) {
      if (figure.prediction.has_value() && figure.counted) DrawFigure(figure);
    }
    for (size_t i = 0; i < std::size(kPapers); ++i) {
      const double y = kMargin + 16 + 18 * static_cast<double>(i);
      absl::StrAppendFormat(&svg_, "<circle cx=\"%d\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", kMargin + 16, y - 4, kColours[i]);
      Text(kMargin + 28, y, "start", kPaperNames[i]);
    }
    Text(kMargin + 12, kMargin + 16 + 18 * static_cast<double>(std::size(kPapers)), "start", "hollow: near the calibration");
    return svg_ + "</svg>\n";
  }

 private:
  static double Published(const ComparedFigure& figure) { return MiddleOf(figure.published_low, figure.published_high); }
  static double Predicted(const ComparedFigure& figure) { return MiddleOf(figure.prediction->low, figure.prediction->high); }

  double Share(double value) const { return std::clamp((std::log10(value) - low_) / (high_ - low_), 0.0, 1.0); }
  double X(double value) const { return kMargin + Share(value) * (kSize - 2 * kMargin); }
  double Y(double value) const { return kSize - kMargin - Share(value) * (kSize - 2 * kMargin); }

  void Text(double x, double y, const char* anchor, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, SvgEscaped(text));
  }
  void Line(double x1, double y1, double x2, double y2, const char* style) {
    absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
  }
  void DrawTick(double value) {
    const double low = std::pow(10, low_), high = std::pow(10, high_);
    Line(X(value), Y(low), X(value), Y(high), "stroke=\"#dddddd\"");
    Line(X(low), Y(value), X(high), Y(value), "stroke=\"#dddddd\"");
    Text(X(value), kSize - kMargin + 18, "middle", absl::StrFormat("%g", value));
    Text(kMargin - 6, Y(value) + 4, "end", absl::StrFormat("%g", value));
  }
  // Draws the line where predictions are `ratio` times the published figures.
  void DrawRatio(double ratio, const char* style) {
    const double low = std::pow(10, low_) * std::max(1.0, 1 / ratio), high = std::pow(10, high_) * std::min(1.0, 1 / ratio);
    Line(X(low), Y(low * ratio), X(high), Y(high * ratio), style);
  }
  void DrawFigure(const ComparedFigure& figure) {
    size_t paper = 0;
    while (paper + 1 < std::size(kPapers) && figure.id.substr(0, 3) != kPapers[paper]) ++paper;
    const double x = X(Published(figure));
    Line(x, Y(figure.band_low), x, Y(figure.band_high), absl::StrCat("stroke=\"", kColours[paper], "\" stroke-opacity=\"0.4\"").c_str());
    const std::string title = SvgEscaped(absl::StrCat(figure.id, ": ", figure.what, ", ", figure.unit));
    absl::StrAppendFormat(&svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"%s\"><title>%s</title></circle>\n", x,
                          Y(Predicted(figure)), figure.near_calibration ? "white" : kColours[paper], kColours[paper], title);
  }

  const NpuComparison& comparison_;
  double low_ = 0, high_ = 1;   // Powers of ten.
  std::string svg_;
};

}  // namespace

std::string NpuComparisonSvg(const NpuComparison& comparison) { return Drawing(comparison).Draw(); }

}  // namespace tessera
