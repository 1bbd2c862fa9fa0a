#include "tessera/apps/cli/streaming_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/peak_memory.h"

namespace tessera {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double BytesPerSecond(const StreamingFigures& figures) {
  return Ratio(static_cast<double>(figures.stats.bytes_read), Seconds(figures.stats.read_nanos));
}

double PinnedShare(const LayerStreamer::Stats& stats) {
  return Ratio(static_cast<double>(stats.pinned_bytes), static_cast<double>(stats.pinned_bytes + stats.streamed_bytes));
}

// Reading goes on beside computing, and beyond the run, so it is no part of the sum of the two others.
struct Times { double compute, read, stall; };
Times TimesOf(const StreamingFigures& figures) {
  const double stall = Seconds(figures.stats.stall_nanos);
  return {.compute = std::max(0.0, figures.seconds - stall), .read = Seconds(figures.stats.read_nanos), .stall = stall};
}
Times PerPass(const StreamingFigures& figures) {
  const Times all = TimesOf(figures);
  const auto passes = static_cast<double>(figures.passes);
  return {Ratio(all.compute, passes), Ratio(all.read, passes), Ratio(all.stall, passes)};
}

void WriteTimes(JsonWriter& json, const Times& times) {
  json.BeginObject().Key("compute").Double(times.compute, 6).Key("read").Double(times.read, 6).Key("stall").Double(times.stall, 6);
  json.EndObject();
}

// Null for 0.
void WriteKnown(JsonWriter& json, double value) {
  if (value > 0) json.Double(value, 6); else json.Null();
}

// Adds the other's counters `times` times.
void AddCounters(StreamingFigures& figures, const StreamingFigures& other, int times) {
  figures.stats.bytes_read += times * other.stats.bytes_read;
  figures.stats.read_nanos += times * other.stats.read_nanos;
  figures.stats.stall_nanos += times * other.stats.stall_nanos;
  figures.stats.out_of_order += times * other.stats.out_of_order;
  figures.stats.retries += times * other.stats.retries;
  figures.passes += times * other.passes;
  figures.seconds += times * other.seconds;
}

}  // namespace

StreamingFigures StreamingFigures::Of(Engine& engine, double flash_bytes_per_second) {
  const LayerStreamer& streamer = *engine.model().streamer();
  return {.stats = streamer.stats(), .device = streamer.device_reason(), .flash_bytes_per_second = flash_bytes_per_second,
          .passes = engine.stats().passes, .seconds = SecondsSinceStart()};
}

StreamingFigures StreamingFigures::Since(const StreamingFigures& before) const {
  StreamingFigures figures = *this;
  AddCounters(figures, before, -1);
  return figures;
}

void StreamingFigures::Add(const StreamingFigures& more) { AddCounters(*this, more, 1); }

std::string StreamingLine(const StreamingFigures& figures) {
  if (figures.stats.streamed_bytes == 0) return "all weights pinned";
  std::string line = absl::StrFormat("%.0f %% of the weights pinned, the rest read in each of %d passes: %.3g GB/s",
                                     100 * PinnedShare(figures.stats), figures.passes, BytesPerSecond(figures) * 1e-9);
  if (figures.flash_bytes_per_second > 0) {
    absl::StrAppendFormat(&line, ", %.0f %% of the flash", 100 * BytesPerSecond(figures) / figures.flash_bytes_per_second);
  }
  const Times pass = PerPass(figures);
  return absl::StrFormat("%s; a pass computes %.1f ms, reads %.1f ms, waits %.1f ms", line, pass.compute * 1e3, pass.read * 1e3,
                         pass.stall * 1e3);
}

void WriteStreaming(JsonWriter& json, const StreamingFigures& figures) {
  const LayerStreamer::Stats& stats = figures.stats;
  json.BeginObject();
  json.Key("bytes_read").Int(stats.bytes_read);
  json.Key("bytes_per_second").Double(BytesPerSecond(figures), 6);
  WriteKnown(json.Key("flash_bytes_per_second"), figures.flash_bytes_per_second);
  WriteKnown(json.Key("of_flash"), Ratio(BytesPerSecond(figures), figures.flash_bytes_per_second));
  json.Key("passes").Int(figures.passes);
  WriteTimes(json.Key("seconds"), TimesOf(figures));
  WriteTimes(json.Key("seconds_per_pass"), PerPass(figures));
  json.Key("pinned_bytes").Int(stats.pinned_bytes);
  json.Key("streamed_bytes_per_pass").Int(stats.streamed_bytes);
  json.Key("pinned_share").Double(PinnedShare(stats), 6);
  json.Key("ring_bytes").Int(stats.ring_bytes);
  json.Key("out_of_order").Int(stats.out_of_order);
  json.Key("retries").Int(stats.retries);
  json.Key("device").String(figures.device);
  json.EndObject();
}

StreamedRun::StreamedRun(Engine& engine, double flash_bytes_per_second) : engine_(engine), flash_(flash_bytes_per_second) {
  WarnOfShortages(engine);
  if (engine.model().streamer() != nullptr) before_ = StreamingFigures::Of(engine, flash_);
}

void StreamedRun::WriteMembers(JsonWriter& json) const {
  if (engine_.model().streamer() == nullptr) return;
  WriteStreaming(json.Key("streaming"), Figures());
  json.Key("peak_memory_bytes").Int(PeakMemoryBytes());
}

void StreamedRun::WriteError() const {
  if (engine_.model().streamer() == nullptr) return;
  tessera::WriteError(absl::StrCat(StreamingLine(Figures()), " | peak memory ", FormatByteSize(PeakMemoryBytes()), "\n"));
}

}  // namespace tessera
