// Layers that are read while others are computed: whichever takes longer, what is hidden, and what pinning does.
#include "tessera/apps/lab/papers/lever/streamed_layers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

// The tenth pass by itself, with a pause before each.
double LaterPass(const StreamedLayers::Options& options, double layer_seconds, double pause = 0) {
  StreamedLayers layers(options);
  double now = 0, begin = 0;
  for (int pass = 0; pass < 10; ++pass) {
    begin = now + pause;
    now = layers.Run(begin, layer_seconds);
  }
  return now - begin;
}

TEST(StreamedLayers, HeaderExample) {
  StreamedLayers layers({.layers = 32, .pinned = 6, .read_seconds = 0.031});
  const double first = layers.Run(/*begin=*/0, /*layer_seconds=*/0.003);
  EXPECT_NEAR(first, 26 * 0.031 + 0.003, 1e-9) << "six layers are computed while the first is read";
  const double second = layers.Run(first + 0.05, 0.003);
  EXPECT_LT(second - first - 0.05, first);
}

TEST(StreamedLayers, APassTakesTheLongerOfReadingAndComputing) {
  EXPECT_NEAR(LaterPass({.layers = 8, .read_seconds = 1}, 0.25), 8, 1e-9);
  EXPECT_NEAR(LaterPass({.layers = 8, .read_seconds = 0.25}, 1), 8, 1e-9);
  EXPECT_NEAR(LaterPass({.layers = 8, .pinned = 8, .read_seconds = 1}, 0.25), 2, 1e-9) << "nothing is read";
}

TEST(StreamedLayers, ReadingGoesOnBetweenPassesAsFarAsThereIsRoom) {
  const StreamedLayers::Options options = {.layers = 8, .read_seconds = 1, .ring = 2};
  EXPECT_NEAR(LaterPass(options, 0.25, /*pause=*/0.5), 7.5, 1e-9);
  EXPECT_NEAR(LaterPass(options, 0.25, /*pause=*/100), 6.5, 1e-9) << "two layers are there; the third is read once the first is computed";
  StreamedLayers::Options larger = options;
  larger.ring = 8;
  EXPECT_NEAR(LaterPass(larger, 0.25, /*pause=*/100), 2, 1e-9) << "all of them are there";
}

TEST(StreamedLayers, MorePinnedLayersAreNeverSlower) {
  for (const double compute : {0.1, 0.9, 1.0, 1.1, 3.0}) {
    for (const double pause : {0.0, 1.5}) {
      double before = LaterPass({.layers = 12, .read_seconds = 1}, compute, pause);
      for (int pinned = 1; pinned <= 12; ++pinned) {
        const double now = LaterPass({.layers = 12, .pinned = pinned, .read_seconds = 1}, compute, pause);
        EXPECT_LE(now, before + 1e-9) << pinned << " " << compute << " " << pause;
        EXPECT_GE(now, 12 * compute - 1e-9);
        before = now;
      }
    }
  }
}

TEST(StreamedLayers, EachLayerMayTakeItsOwnTime) {
  StreamedLayers layers({.layers = 4, .pinned = 4});
  EXPECT_NEAR(layers.RunEach(1, [](int layer) { return layer < 2 ? 1.0 : 0.5; }), 4, 1e-9);
}

}  // namespace
}  // namespace tessera
