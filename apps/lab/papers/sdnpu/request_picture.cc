#include "tessera/apps/lab/papers/sdnpu/request_picture.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/show/svg_plot.h"

namespace tessera {

namespace {

constexpr double kArea = 1000, kLeft = 64, kRight = 20, kTop = 64, kBottom = 40;   // Width of the axis, and margins.
constexpr double kTrack = 26, kName = 24, kBetween = 12;                           // Heights: a resource's line, a request's name.
// In the legend: a colour, and a letter next to the colour.
constexpr double kKey = 30, kLetter = 7;
// The axis's length, relative to the time until the last load ends.
constexpr double kMore = 1.1;
constexpr Resource kTracks[] = {Resource::kNpu, Resource::kFlash, Resource::kCpu};

// The kinds of work, each with its look.
enum class Kind : uint8_t { kPrefillGraph, kDecodeGraph, kLoad, kCalibration, kPass, kOther };
struct KindLook { const char* name; const char* colour; };
constexpr KindLook kLooks[] = {{"block, prefill graph", "#7fb2d9"},
                               {"block, decode graph", "#f0a27a"},
                               {"loading a decode graph", "#c9c9c9"},
                               {"calibration", "#e0c050"},
                               {"pass over the answer", "#b79bca"},
                               {"head, drafting", "#8cbf8c"}};

// Returns the kind of an event. A block computes by its decode graph once the graph is loaded.
Kind KindOf(const TimelineEvent& event, const std::vector<TimelineEvent>& events) {
  if (event.zone == Zone::kLoad) return Kind::kLoad;
  if (event.zone == Zone::kSample) return Kind::kCalibration;
  if (event.zone == Zone::kPass) return Kind::kPass;
  if (event.zone != Zone::kGraphRun) return Kind::kOther;
  const bool loaded = std::any_of(events.begin(), events.end(), [&](const TimelineEvent& other) {
    return other.zone == Zone::kLoad && other.detail == event.detail && other.end_ns <= event.begin_ns;
  });
  return loaded ? Kind::kDecodeGraph : Kind::kPrefillGraph;
}

class Drawing {
 public:
  explicit Drawing(const RequestPicture& picture) : picture_(picture) {
    int64_t last = 0, last_load = 0;
    for (const RequestPicture::Part& part : picture.parts) {
      for (const TimelineEvent& event : part.events) {
        last = std::max(last, event.end_ns);
        if (event.zone == Zone::kLoad) last_load = std::max(last_load, event.end_ns);
      }
    }
    seconds_ = static_cast<double>(last) / 1e9;
    if (last_load > 0) seconds_ = std::min(seconds_, kMore * static_cast<double>(last_load) / 1e9);
    if (seconds_ <= 0) seconds_ = 1;
  }

  std::string Draw() {
    const double part = kName + kTrack * static_cast<double>(std::size(kTracks)) + kBetween;
    const double foot = kTop + part * static_cast<double>(picture_.parts.size());
    const double width = kLeft + kArea + kRight, height = foot + kBottom;
    absl::StrAppendFormat(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" ", width, height);
    absl::StrAppendFormat(&svg_, "width=\"%.0f\" height=\"%.0f\" ", width, height);
    absl::StrAppend(&svg_, "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(width / 2, 20, "middle", picture_.title);
    DrawLegend();
    DrawAxis(foot);
    for (size_t i = 0; i < picture_.parts.size(); ++i) DrawPart(picture_.parts[i], kTop + part * static_cast<double>(i));
    return svg_ + "</svg>\n";
  }

 private:
  double X(double seconds) const { return kLeft + kArea * std::clamp(seconds / seconds_, 0.0, 1.0); }

  void Text(double x, double y, const char* anchor, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, SvgEscaped(text));
  }
  void Box(double x, double y, double width, double height, const char* colour) {
    absl::StrAppendFormat(&svg_, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\" stroke=\"white\"/>\n", x, y, width,
                          height, colour);
  }

  void DrawLegend() {
    double x = kLeft;
    for (const KindLook& look : kLooks) {
      const std::string name = look.name;
      Box(x, 36, 12, 12, look.colour);
      Text(x + 16, 46, "start", name);
      x += kKey + kLetter * static_cast<double>(name.size());
    }
  }

  void DrawAxis(double foot) {
    const double step = SvgTickStep(seconds_);
    for (int i = 0; i * step <= seconds_ * (1 + 1e-9); ++i) {
      const double x = X(i * step);
      absl::StrAppendFormat(&svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", x, kTop, x, foot);
      Text(x, foot + 16, "middle", absl::StrFormat("%g s", i * step));
    }
  }

  void DrawPart(const RequestPicture::Part& part, double top) {
    Text(kLeft, top + kName - 8, "start", part.name);
    for (size_t track = 0; track < std::size(kTracks); ++track) {
      const double y = top + kName + kTrack * static_cast<double>(track);
      Text(kLeft - 8, y + kTrack - 9, "end", std::string(ResourceName(kTracks[track])));
      for (const TimelineEvent& event : part.events) {
        if (event.resource == kTracks[track]) DrawEvent(event, KindOf(event, part.events), y);
      }
    }
  }

  // Draws a block's number, if the block has room.
  void DrawEvent(const TimelineEvent& event, Kind kind, double y) {
    const double begin = X(static_cast<double>(event.begin_ns) / 1e9), end = X(static_cast<double>(event.end_ns) / 1e9);
    if (end <= begin) return;
    Box(begin, y, end - begin, kTrack - 2, kLooks[static_cast<size_t>(kind)].colour);
    if (kind != Kind::kLoad && kind != Kind::kPrefillGraph && kind != Kind::kDecodeGraph) return;
    const std::string number = absl::StrCat(event.detail);
    if (end - begin >= kLetter * static_cast<double>(number.size()) + 2) Text((begin + end) / 2, y + kTrack - 9, "middle", number);
  }

  const RequestPicture& picture_;
  double seconds_ = 0;
  std::string svg_ = {};
};

}  // namespace

std::string RequestPictureSvg(const RequestPicture& picture) { return Drawing(picture).Draw(); }

}  // namespace tessera
