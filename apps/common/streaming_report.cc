#include "tessera/apps/common/streaming_report.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace tessera {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double BytesPerSecond(const LayerStreamer::Stats& stats) { return Ratio(static_cast<double>(stats.bytes_read), Seconds(stats.read_nanos)); }

// Adds the other's counters `times` times.
void AddCounters(LayerStreamer::Stats& stats, const LayerStreamer::Stats& other, int times) {
  stats.bytes_read += times * other.bytes_read;
  stats.read_nanos += times * other.read_nanos;
  stats.stall_nanos += times * other.stall_nanos;
  stats.out_of_order += times * other.out_of_order;
  stats.retries += times * other.retries;
}

}  // namespace

StreamingFigures StreamingFigures::Of(const LayerStreamer& streamer) { return {streamer.stats(), streamer.device_reason()}; }

StreamingFigures StreamingFigures::Since(const StreamingFigures& before) const {
  StreamingFigures figures = *this;
  AddCounters(figures.stats, before.stats, -1);
  return figures;
}

void StreamingFigures::Add(const StreamingFigures& more) { AddCounters(stats, more.stats, 1); }

std::string StreamingLine(const StreamingFigures& figures, double seconds) {
  const LayerStreamer::Stats& stats = figures.stats;
  const double all = static_cast<double>(stats.pinned_bytes + stats.streamed_bytes);
  return absl::StrFormat("streamed %.0f %% of the weights in each pass: %.2f GB/s, waited for it %.0f %% of the time",
                         100 * Ratio(static_cast<double>(stats.streamed_bytes), all), BytesPerSecond(stats) * 1e-9,
                         100 * std::min(1.0, Ratio(Seconds(stats.stall_nanos), seconds)));
}

void WriteStreaming(JsonWriter& json, const StreamingFigures& figures, double seconds) {
  const LayerStreamer::Stats& stats = figures.stats;
  json.BeginObject();
  json.Key("bytes_read").Int(stats.bytes_read);
  json.Key("bytes_per_second").Double(BytesPerSecond(stats), 6);
  json.Key("read_seconds").Double(Seconds(stats.read_nanos), 6);
  json.Key("stall_seconds").Double(Seconds(stats.stall_nanos), 6);
  json.Key("compute_seconds").Double(std::max(0.0, seconds - Seconds(stats.stall_nanos)), 6);
  json.Key("pinned_bytes").Int(stats.pinned_bytes);
  json.Key("streamed_bytes_per_pass").Int(stats.streamed_bytes);
  json.Key("ring_bytes").Int(stats.ring_bytes);
  json.Key("out_of_order").Int(stats.out_of_order);
  json.Key("retries").Int(stats.retries);
  json.Key("device").String(figures.device);
  json.EndObject();
}

}  // namespace tessera
