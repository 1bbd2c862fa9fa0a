#include "tessera/quant/internal/tiles/tile_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <glog/logging.h>

#include "tessera/base/half.h"

namespace tessera::tiles {
namespace {

float LargestOf(TileCode code) {
  switch (code) {
    case TileCode::kInt4: return -8;
    case TileCode::kIq4Nl: return -127;
    case TileCode::kNf4: return 1;
    case TileCode::kFp4: return 6;
    default: return 127;
  }
}

// The next number below. REQUIRES: x < 0.
float Below(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + 1); }

// To the nearest whole number from -127 to 127, halves to even: above 1.5 * 2^23 FP32 has no fractions.
inline float RoundedToByte(float x) {
  constexpr float kWhole = 12582912.0f;
  const float at_most = x < 127.0f ? x : 127.0f, within = at_most > -127.0f ? at_most : -127.0f;
  return (within + kWhole) - kWhole;
}

}  // namespace

TileScale ScaleOf(float scale) {
  const uint16_t half = FloatToHalf(scale);
  return {half, (half & 0x7FFF) == 0 ? 0 : 1 / scale};
}

int64_t LargestIn(const float* numbers, int64_t count) {
  int64_t largest = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (std::fabs(numbers[i]) > std::fabs(numbers[largest])) largest = i;
  }
  return largest;
}

int64_t FirstNotFinite(const float* numbers, int64_t count) {
  constexpr uint32_t kInfinity = 0x7F800000u;
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) found |= (std::bit_cast<uint32_t>(numbers[i]) & kInfinity) == kInfinity;
  if (found == 0) return -1;
  return std::find_if_not(numbers, numbers + count, [](float x) { return std::isfinite(x); }) - numbers;
}

TileEncoder::TileEncoder(TileCode code) : code_(code), largest_(LargestOf(code)) {
  CHECK(code != TileCode::kHalf) << "FP16 has no codes";
  if (BitsOf(code) != 4) return;
  struct Entry { float number; uint8_t code; };
  std::array<Entry, 16> sorted = {};
  for (uint8_t i = 0; i < 16; ++i) sorted[i] = {HalfToFloat(TileTable(code)[i]), i};
  std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return a.number != b.number ? a.number < b.number : a.code < b.code;
  });
  const auto same = [](const Entry& a, const Entry& b) { return a.number == b.number; };   // FP4 has two zeros.
  const size_t count = static_cast<size_t>(std::unique(sorted.begin(), sorted.end(), same) - sorted.begin());
  limits_.fill(std::numeric_limits<float>::infinity());
  first_ = sorted[0].number;
  for (size_t i = 0; i < count; ++i) {
    codes_[i] = sorted[i].code;
    if (i + 1 == count) break;
    const float middle = (sorted[i].number + sorted[i + 1].number) / 2;   // Exact, as the step is.
    limits_[i] = sorted[i].code < sorted[i + 1].code ? middle : Below(middle);   // FP4's negative numbers descend.
    steps_[i] = sorted[i + 1].number - sorted[i].number;
  }
}

bool TileEncoder::Holds(TileScale scale, bool products) const {
  const float number = HalfToFloat(scale.half);
  return std::isfinite(number) && (!products || std::isfinite(HalfToFloat(FloatToHalf(number * largest_))));
}

void TileEncoder::Encode(const float* run, float inverse, uint8_t* codes) const {
  if (BitsOf(code_) == 8) {
    for (int i = 0; i < kRun; ++i) codes[i] = static_cast<uint8_t>(static_cast<int32_t>(RoundedToByte(run[i] * inverse)));
    return;
  }
  float scaled[kRun];
  int32_t places[kRun] = {};
  for (int i = 0; i < kRun; ++i) scaled[i] = run[i] * inverse;
  for (const float limit : limits_) {
    for (int i = 0; i < kRun; ++i) places[i] += scaled[i] > limit ? 1 : 0;
  }
  for (int i = 0; i < kRun; ++i) codes[i] = codes_[static_cast<size_t>(places[i])];
}

// Computes the numbers of Encode's codes. A sum of steps is exact, since the sum is a number of the table after each step.
void TileEncoder::Values(const float* run, float inverse, float* values) const {
  if (BitsOf(code_) == 8) {
    for (int i = 0; i < kRun; ++i) values[i] = RoundedToByte(run[i] * inverse);
    return;
  }
  float scaled[kRun];
  for (int i = 0; i < kRun; ++i) scaled[i] = run[i] * inverse, values[i] = first_;
  for (size_t step = 0; step < limits_.size(); ++step) {
    const float limit = limits_[step], size = steps_[step];
    for (int i = 0; i < kRun; ++i) values[i] += scaled[i] > limit ? size : 0.0f;
  }
}

double TileEncoder::Error(const float* numbers, const float* importance, int64_t count, TileScale scale) const {
  constexpr int kLanes = 8;
  const float factor = HalfToFloat(scale.half);
  double sum = 0;
  for (int64_t first = 0; first < count; first += kRun) {
    float values[kRun], errors[kLanes] = {};
    Values(numbers + first, scale.inverse, values);
    for (int i = 0; i < kRun; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float difference = values[i + lane] * factor - numbers[first + i + lane];
        errors[lane] += importance[first + i + lane] * (difference * difference);
      }
    }
    for (const float error : errors) sum += static_cast<double>(error);
  }
  return sum;
}

TileScale TileEncoder::Search(const float* numbers, const float* importance, int64_t count, float nearest, bool products) const {
  constexpr int kSteps = 16;
  TileScale best = ScaleOf(nearest);
  double least = Error(numbers, importance, count, best);
  for (int i = 0; i < kSteps; ++i) {
    const TileScale scale = ScaleOf(nearest * (0.7f + 0.03f * static_cast<float>(i)));
    if (!Holds(scale, products)) continue;
    const double error = Error(numbers, importance, count, scale);
    if (error < least) best = scale, least = error;
  }
  return best;
}

}  // namespace tessera::tiles
