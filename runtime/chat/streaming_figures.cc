#include "tessera/runtime/chat/streaming_figures.h"

#include <algorithm>

#include "tessera/base/clock.h"

namespace tessera {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double Now() { return Seconds(RealClock().NowNanos()); }   // Real time, like the times of the streamer.

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void WriteTimes(JsonWriter& json, const StreamingFigures::Times& times) {
  json.BeginObject().Key("compute").Double(times.compute, 6).Key("read").Double(times.read, 6).Key("stall").Double(times.stall, 6);
  json.EndObject();
}

// Writes null for 0.
void WriteKnown(JsonWriter& json, double value) {
  if (value > 0) json.Double(value, 6); else json.Null();
}

// Adds the counters of `other`, multiplied by `times`.
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
          .passes = engine.stats().passes, .seconds = Now()};
}

StreamingFigures StreamingFigures::Since(const StreamingFigures& before) const {
  StreamingFigures figures = *this;
  AddCounters(figures, before, -1);
  return figures;
}

void StreamingFigures::Add(const StreamingFigures& more) { AddCounters(*this, more, 1); }

double StreamingFigures::BytesPerSecond() const { return Ratio(static_cast<double>(stats.bytes_read), Seconds(stats.read_nanos)); }

double StreamingFigures::PinnedShare() const {
  return Ratio(static_cast<double>(stats.pinned_bytes), static_cast<double>(stats.pinned_bytes + stats.streamed_bytes));
}

StreamingFigures::Times StreamingFigures::Total() const {
  const double stall = Seconds(stats.stall_nanos);
  return {.compute = std::max(0.0, seconds - stall), .read = Seconds(stats.read_nanos), .stall = stall};
}

StreamingFigures::Times StreamingFigures::PerPass() const {
  const Times all = Total();
  const auto count = static_cast<double>(passes);
  return {Ratio(all.compute, count), Ratio(all.read, count), Ratio(all.stall, count)};
}

void WriteStreaming(JsonWriter& json, const StreamingFigures& figures) {
  const LayerStreamer::Stats& stats = figures.stats;
  json.BeginObject();
  json.Key("bytes_read").Int(stats.bytes_read);
  json.Key("bytes_per_second").Double(figures.BytesPerSecond(), 6);
  WriteKnown(json.Key("flash_bytes_per_second"), figures.flash_bytes_per_second);
  WriteKnown(json.Key("of_flash"), Ratio(figures.BytesPerSecond(), figures.flash_bytes_per_second));
  json.Key("passes").Int(figures.passes);
  WriteTimes(json.Key("seconds"), figures.Total());
  WriteTimes(json.Key("seconds_per_pass"), figures.PerPass());
  json.Key("pinned_bytes").Int(stats.pinned_bytes);
  json.Key("streamed_bytes_per_pass").Int(stats.pass_bytes);
  json.Key("pinned_share").Double(figures.PinnedShare(), 6);
  json.Key("ring_bytes").Int(stats.ring_bytes);
  json.Key("out_of_order").Int(stats.out_of_order);
  json.Key("retries").Int(stats.retries);
  json.Key("device").String(figures.device);
  json.EndObject();
}

}  // namespace tessera
