// Encodes numbers as codes and a scale, in runs of 32: the part that all tile schemes share (quant/tile_scheme.h).
//
//   const tiles::TileEncoder encoder(TileCode::kNf4);
//   const tiles::TileScale scale = tiles::ScaleOf(run[tiles::LargestIn(run, 32)] / encoder.largest());
//   encoder.Encode(run, scale.inverse, codes);                      // run: 32 numbers
//
// A code is the nearest one under the scale before the scale is rounded to FP16. The lower of two equally near codes wins; codes of 8 bits
// are rounded to even. Plain loops over 32 numbers, which compilers vectorize: 100 million numbers take about a second. Immutable:
// thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/quant/internal/tiles/tile_places.h"

namespace tessera::tiles {

// A scale in FP16, and the factor that brings numbers to the range of codes: 0 if FP16 rounds the scale to 0.
struct TileScale {
  uint16_t half = 0;
  float inverse = 0;
};
TileScale ScaleOf(float scale);

// Returns the index of the first number of the largest magnitude. REQUIRES: count >= 1, numbers are finite.
int64_t LargestIn(const float* numbers, int64_t count);
// Returns the index of the first number that is not finite, or -1.
int64_t FirstNotFinite(const float* numbers, int64_t count);

class TileEncoder {
 public:
  explicit TileEncoder(TileCode code);   // REQUIRES: not kHalf.

  // The code for the number of the largest magnitude: the code without a partner of the other sign, if there is such a code.
  float largest() const { return largest_; }

  // Returns true if FP16 holds the scale and, if weights are products of FP16, the largest weight.
  bool Holds(TileScale scale, bool products) const;

  // Encodes a run: signed bytes, or 0 to 15.
  void Encode(const float* run, float inverse, uint8_t* codes) const;

  // Returns the scale with the least sum of importance * error^2. Candidates are `nearest` and 16 scales from 0.7 to 1.15 times as large.
  // The first of equal candidates wins; `nearest` comes first. REQUIRES: count is a multiple of kRun; numbers are finite.
  TileScale Search(const float* numbers, const float* importance, int64_t count, float nearest, bool products) const;

 private:
  void Values(const float* run, float inverse, float* values) const;
  double Error(const float* numbers, const float* importance, int64_t count, TileScale scale) const;

  const TileCode code_;
  const float largest_;
  // The numbers of a table in ascending order: number i + 1 is number i + steps_[i], and is chosen above limits_[i].
  float first_ = 0;
  std::array<float, 15> limits_ = {}, steps_ = {};
  std::array<uint8_t, 16> codes_ = {};
};

}  // namespace tessera::tiles
