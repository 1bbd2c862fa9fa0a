// What streaming weights took of a run: bytes, the device's speed, and how long passes waited for it.
//
//   StreamingFigures figures = StreamingFigures::Of(*engine.streamer());       // null: nothing is streamed
//   ... a run ...
//   figures = StreamingFigures::Of(*engine.streamer()).Since(figures);
//   WriteError(StreamingLine(figures, /*seconds=*/4.2));
//
// Plain data; the functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/json_writer.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

struct StreamingFigures {
  LayerStreamer::Stats stats;
  std::string device;          // How the file is read, and why so.

  static StreamingFigures Of(const LayerStreamer& streamer);
  // What came since `before`: bytes, times, retries. Sizes stay.
  StreamingFigures Since(const StreamingFigures& before) const;
  void Add(const StreamingFigures& more);   // Another run's bytes, times, retries.
};

// "streamed 72 % of the weights in each pass: 3.41 GB/s, waited for it 61 % of the time".
std::string StreamingLine(const StreamingFigures& figures, double seconds);

// {"bytes_read", "bytes_per_second", "read_seconds", "stall_seconds", "compute_seconds", "pinned_bytes", "streamed_bytes_per_pass",
//  "ring_bytes", "out_of_order", "retries", "device"}. seconds: of all passes.
void WriteStreaming(JsonWriter& json, const StreamingFigures& figures, double seconds);

}  // namespace tessera
