// Numbers to codes and a scale, a run of 32 at a time: what all tile schemes share (quant/tile_scheme.h).
//
//   const tiles::TileEncoder encoder(TileCode::kNf4);
//   const tiles::TileScale scale = tiles::ScaleOf(run[tiles::LargestIn(run, 32)] / encoder.largest());
//   encoder.Encode(run, scale.inverse, codes);                      // run: 32 numbers
//
// Codes are nearest under the scale before it is rounded to FP16, of two equally near the lower one; codes of 8 bits are rounded to even.
// Plain loops over 32 numbers, which compilers make vectors of: 100 million numbers take about a second. Immutable: thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/quant/internal/tiles/tile_places.h"

namespace tessera::tiles {

// A scale in FP16, and what numbers are multiplied by before they take the nearest code: 0 where FP16 rounds the scale to 0.
struct TileScale {
  uint16_t half = 0;
  float inverse = 0;
};
TileScale ScaleOf(float scale);

// The index of the first number of the largest magnitude. REQUIRES: count >= 1, numbers are finite.
int64_t LargestIn(const float* numbers, int64_t count);
// The index of the first number that is not finite, or -1.
int64_t FirstNotFinite(const float* numbers, int64_t count);

class TileEncoder {
 public:
  explicit TileEncoder(TileCode code);   // REQUIRES: not kHalf.

  // What the number of the largest magnitude becomes: the code without a partner of the other sign where there is one.
  float largest() const { return largest_; }

  // Does FP16 hold the scale and, where weights are products of FP16, the largest of them?
  bool Holds(TileScale scale, bool products) const;

  // Codes of a run: signed bytes, or 0 to 15.
  void Encode(const float* run, float inverse, uint8_t* codes) const;

  // Among `nearest` and 16 scales from 0.7 to 1.15 times as large, the one with the least sum of importance * error^2; the first of equal
  // ones, which begin with `nearest`. REQUIRES: count is a multiple of kRun; numbers are finite.
  TileScale Search(const float* numbers, const float* importance, int64_t count, float nearest, bool products) const;

 private:
  void Values(const float* run, float inverse, float* values) const;
  double Error(const float* numbers, const float* importance, int64_t count, TileScale scale) const;

  const TileCode code_;
  const float largest_;
  // The numbers of a table in ascending order: number i + 1 is number i + steps_[i], and is taken above limits_[i].
  float first_ = 0;
  std::array<float, 15> limits_ = {}, steps_ = {};
  std::array<uint8_t, 16> codes_ = {};
};

}  // namespace tessera::tiles
