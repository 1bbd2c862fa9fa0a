#include "tessera/base/trace_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/text_file.h"

namespace tessera {
namespace {

constexpr int kProcess = 1;
constexpr int kTracksPerResource = 64;  // Events that need more tracks are drawn on the last one.

// A line of the viewer, with the ends of the line's open events, the innermost last.
struct Track {
  Resource resource;
  int number;                      // Number among the tracks of the resource.
  std::vector<int64_t> open;

  // Returns true if `event` is within the innermost open event, or after all open events.
  bool Takes(const TimelineEvent& event) {
    while (!open.empty() && open.back() <= event.begin_ns) open.pop_back();
    return open.empty() || event.end_ns <= open.back();
  }
};

// The track for `event`, made if needed. REQUIRES: events come in order of their beginning, longer ones first.
int TrackOf(const TimelineEvent& event, std::vector<Track>& tracks) {
  int last = -1, number = 0;
  for (size_t i = 0; i < tracks.size(); ++i) {
    if (tracks[i].resource != event.resource) continue;
    last = static_cast<int>(i), ++number;
    if (!tracks[i].Takes(event)) continue;
    tracks[i].open.push_back(event.end_ns);
    return last;
  }
  if (number == kTracksPerResource) return last;
  tracks.push_back({event.resource, number, {event.end_ns}});
  return static_cast<int>(tracks.size()) - 1;
}

void WriteEvent(const TimelineEvent& event, const TimelineWork& work, int64_t origin_ns, int track, JsonWriter& json) {
  const absl::string_view name = work.name.empty() ? ZoneName(event.zone) : work.name;
  json.BeginObject().Key("name").String(name).Key("cat").String(ResourceName(event.resource));
  json.Key("ph").String("X").Key("pid").Int(kProcess).Key("tid").Int(track + 1);
  json.Key("ts").Double(static_cast<double>(event.begin_ns - origin_ns) / 1000);
  json.Key("dur").Double(static_cast<double>(std::max<int64_t>(0, event.end_ns - event.begin_ns)) / 1000);
  json.Key("args").BeginObject().Key("detail").Int(event.detail);
  if (work.layer >= 0) json.Key("layer").Int(work.layer);
  if (!work.name.empty()) json.Key("rows").Int(work.rows).Key("bytes").Int(work.bytes).Key("bound").String(work.bound);
  json.EndObject().EndObject();
}

void WriteTrackMetadata(const Track& track, int index, JsonWriter& json) {
  const auto begin = [&](absl::string_view name) {
    json.BeginObject().Key("name").String(name).Key("ph").String("M").Key("pid").Int(kProcess).Key("tid").Int(index + 1);
    json.Key("args").BeginObject();
  };
  const std::string resource(ResourceName(track.resource));
  begin("thread_name");
  json.Key("name").String(track.number == 0 ? resource : absl::StrCat(resource, " ", track.number + 1)).EndObject().EndObject();
  begin("thread_sort_index");
  json.Key("sort_index").Int(static_cast<int>(track.resource) * kTracksPerResource + track.number).EndObject().EndObject();
}

}  // namespace

std::string TraceJson(const Timeline& timeline) {
  std::vector<TimelineEvent> events = timeline.Events();
  std::stable_sort(events.begin(), events.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  JsonWriter json;
  json.BeginObject().Key("traceEvents").BeginArray();
  std::vector<Track> tracks;
  for (const TimelineEvent& event : events) {
    WriteEvent(event, timeline.WorkOf(event), events[0].begin_ns, TrackOf(event, tracks), json);
  }
  for (size_t i = 0; i < tracks.size(); ++i) WriteTrackMetadata(tracks[i], static_cast<int>(i), json);
  json.EndArray().Key("displayTimeUnit").String("ns");
  json.Key("otherData").BeginObject().Key("dropped").Int(timeline.dropped()).EndObject().EndObject();
  return std::move(json).Take();
}

absl::Status WriteTrace(const Timeline& timeline, const std::string& path) {
  return WriteTextFile(path, TraceJson(timeline));
}

}  // namespace tessera
