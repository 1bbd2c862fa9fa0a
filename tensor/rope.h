// Rotary position embedding as data: the cosines and sines that rotate queries and keys at a position.
//
//   RopeConfig config = {.dimensions = 64, .base = 10'000};
//   ASSIGN_OR_RETURN(RopeTable table, RopeTable::Create(config));
//   std::vector<float> cos_sin(table.dimensions());
//   table.Fill(position, absl::MakeSpan(cos_sin));   // of pair i: cosine at [2 i], sine at [2 i + 1]
//
// The table gives only the angles; the operator decides which two values of a head form pair i (neighbours, or one from each half). Pair i
// rotates by position * base^(-2 i / dimensions), changed by the model's method for longer contexts. Methods are a factor for each
// frequency, linear scaling (Chen et al. 2023) and YaRN (Peng et al. 2023). Angles, cosines and sines are computed in double precision with
// base/elementary.h and rounded once, so the numbers are equal on every machine. Layers with another base or without scaling (layers with a
// sliding window, in some models) have a separate table. Thread-safe after Create.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct RopeConfig {
  enum class Scaling { kNone, kLinear, kYarn };

  int dimensions = 0;    // Number of values of a head that are rotated, the first ones; even.
  double base = 10'000;  // Base of the geometric series of frequencies.
  Scaling scaling = Scaling::kNone;
  double factor = 1;  // Factor by which the context became longer; ignored with kNone.

  // For YaRN only. A pair with more than beta_fast turns in the original context keeps its frequency. A pair with fewer than beta_slow
  // turns is slowed down by `factor`. Pairs in between are mixed, to the degree ext_factor (0 to 1).
  int original_context = 0;
  double ext_factor = 1;
  double beta_fast = 32;
  double beta_slow = 1;

  // Multiplies every cosine and sine. With YaRN (ext_factor > 0, factor > 1) cosines and sines also grow by 1 + 0.1 ln(factor): do not
  // include that factor in attn_factor.
  double attn_factor = 1;

  // Empty, or one number per pair: the divisor of the pair's angle (tensor rope_freqs.weight).
  std::vector<float> frequency_factors = {};
  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

class RopeTable {
 public:
  // Creates a table. InvalidArgument with the field (by its GGUF name), the value found and the value expected.
  static absl::StatusOr<RopeTable> Create(const RopeConfig& config);

  int dimensions() const { return static_cast<int>(2 * frequencies_.size()); }

  // Writes the cosines and sines of a position. REQUIRES: cos_sin holds dimensions() values. Costs some 20 ns per pair.
  void Fill(int32_t position, absl::Span<float> cos_sin) const;

 private:
  RopeTable() = default;

  std::vector<double> frequencies_;  // Radians from one position to the next, per pair.
  double magnitude_ = 1;
};

}  // namespace tessera
