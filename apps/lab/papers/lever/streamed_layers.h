// Computes when layers of a model are read and computed. The model is read from flash, in order, again and again, while it computes.
//
//   StreamedLayers layers({.layers = 32, .pinned = 6, .read_seconds = 0.031});
//   const double first = layers.Run(/*begin=*/0, /*layer_seconds=*/0.003);        // when the pass ends
//   const double second = layers.Run(first + 0.05, 0.003);                        // reading went on in between
//
// The first `pinned` layers stay in memory (Lever, section 5.4). Each other layer is read into a ring that has room for `ring` layers.
// Reading goes on as soon as the ring has room, between passes too, one layer after the other at full speed. A layer is computed once it is
// read and the previous layer is done. Thread-compatible.
#pragma once

#include <algorithm>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

class StreamedLayers {
 public:
  struct Options {
    int layers = 1;            // At least 1.
    int pinned = 0;            // 0 to layers.
    double read_seconds = 0;   // For a layer.
    int ring = 2;              // Layers; at least 1: one is read while another is computed.
  };
  explicit StreamedLayers(const Options& options) : options_(options), free_(static_cast<size_t>(std::max(options.ring, 1))) {}

  // Runs a pass that begins at `begin` and computes for layer_seconds in each layer. Returns the time of its end.
  double Run(double begin, double layer_seconds) {
    return RunEach(begin, [&](int /*layer*/) { return layer_seconds; });
  }

  // Like Run, with a time of its own for each layer: seconds_of(layer).
  template <typename SecondsOf>
  double RunEach(double begin, SecondsOf seconds_of) {
    double now = begin;
    for (int layer = 0; layer < options_.layers; ++layer) {
      if (layer < options_.pinned) {
        now += seconds_of(layer);
        continue;
      }
      double& free = free_[next_];   // The time since when this place in the ring is free.
      read_ = std::max(read_, free) + options_.read_seconds;
      now = std::max(now, read_) + seconds_of(layer);
      free = now;
      next_ = (next_ + 1) % free_.size();
    }
    return now;
  }

 private:
  const Options options_;
  std::vector<double> free_;
  size_t next_ = 0;            // Place in the ring.
  double read_ = 0;            // The time at which the last layer was read.
};

}  // namespace tessera
