#include "tessera/quant/internal/formats/k_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

// The numbers of a run's codes: scale * (code - zero) - minimum.
struct Line {
  float scale = 0;
  float minimum = 0;
};

// The nearest codes.
void Encode(const KShape& shape, const float* x, Line line, uint8_t* codes) {
  const float inverse = line.scale == 0 ? 0 : 1 / line.scale;
  const float offset = line.minimum * inverse + static_cast<float>(shape.zero) + 0.5f;
  for (int i = 0; i < shape.run; ++i) codes[i] = static_cast<uint8_t>(TruncateTo(x[i] * inverse + offset, shape.codes - 1));
}

// A run: the values, and the weight of each value's error.
struct Run {
  const float* x;
  const float* weights;
};

float SquaredError(const KShape& shape, Run run, Line line, const uint8_t* codes) {
  float sum = 0;
  for (int i = 0; i < shape.run; ++i) {
    const float error = line.scale * static_cast<float>(codes[i] - shape.zero) - line.minimum - run.x[i];
    sum += run.weights[i] * (error * error);
  }
  return sum;
}

// The line with the smallest squared error for these codes.
Line LeastSquares(const KShape& shape, Run run, const uint8_t* codes) {
  double weights = 0, q = 0, qq = 0, sum = 0, xq = 0;
  for (int i = 0; i < shape.run; ++i) {
    const double code = codes[i] - shape.zero, weight = run.weights[i], x = weight * run.x[i];
    weights += weight, q += weight * code, qq += weight * code * code, sum += x, xq += x * code;
  }
  if (shape.highest_minimum > 0) {
    const double spread = weights * qq - q * q;  // 0 if all codes are equal, except for the rounding of weights.
    const double scale = spread > 1e-11 * weights * qq ? (weights * xq - sum * q) / spread : 0;
    const double minimum = (scale * q - sum) / weights;
    if (minimum > 0) return {static_cast<float>(scale), static_cast<float>(minimum)};
  }
  return {qq > 0 ? static_cast<float>(xq / qq) : 0, 0};  // Without a minimum, or one below 0, the line goes through 0.
}

// Returns the best line for a run whose scale and minimum may be any number. The best scale is not the one at which the codes just reach
// both ends of the run: cutting off a little at the ends makes smaller steps. Several cuts are tried, in steps; -1 adds a step to spare.
Line FitRun(const KShape& shape, Run run) {
  const float* const x = run.x;
  const float largest = LargestSigned(x, shape.run);
  const float low = std::min(0.0f, *std::min_element(x, x + shape.run)), high = *std::max_element(x, x + shape.run);
  uint8_t codes[KBlock::kValues];
  Line best;
  float smallest_error = std::numeric_limits<float>::infinity();
  for (const float cut : {-1.0f, -0.5f, 0.0f, 0.5f, 1.0f}) {
    Line line = {largest / -(static_cast<float>(shape.zero) + cut), 0};
    if (shape.highest_minimum > 0) {
      const float scale = (high - low) / (static_cast<float>(shape.codes - 1) + cut);
      line = {scale, -low - cut / 2 * scale};
    }
    Encode(shape, x, line, codes);
    line = LeastSquares(shape, run, codes);
    Encode(shape, x, line, codes);
    const float error = SquaredError(shape, run, line, codes);
    if (error < smallest_error) smallest_error = error, best = line;
  }
  return best;
}

// value / factor as an integer from lowest to highest.
int Nearest(float value, float factor, int lowest, int highest) {
  if (factor == 0) return 0;
  return static_cast<int>(std::lround(std::clamp(value / factor, static_cast<float>(lowest), static_cast<float>(highest))));
}

// The best integers for the scale and the minimum of a run, and its codes, under the block's factors.
void ChooseRun(const KShape& shape, Run run, Line wanted, int index, KBlock* block) {
  const float factor = HalfToFloat(block->factor), minimum_factor = HalfToFloat(block->minimum_factor);
  const int near_scale = Nearest(wanted.scale, factor, shape.lowest_scale, shape.highest_scale);
  const int near_minimum = Nearest(wanted.minimum, minimum_factor, 0, shape.highest_minimum);
  float smallest_error = std::numeric_limits<float>::infinity();
  uint8_t codes[KBlock::kValues];
  for (int scale = near_scale - 1; scale <= near_scale + 1; ++scale) {
    for (int minimum = near_minimum - 1; minimum <= near_minimum + 1; ++minimum) {
      if (scale < shape.lowest_scale || scale > shape.highest_scale || minimum < 0 || minimum > shape.highest_minimum) continue;
      const Line line = {factor * static_cast<float>(scale), minimum_factor * static_cast<float>(minimum)};
      Encode(shape, run.x, line, codes);
      const float error = SquaredError(shape, run, line, codes);
      if (error >= smallest_error) continue;
      smallest_error = error;
      block->scales[index] = static_cast<int8_t>(scale);
      block->minima[index] = static_cast<uint8_t>(minimum);
      std::copy_n(codes, shape.run, block->codes + index * shape.run);
    }
  }
}

}  // namespace

KBlock SearchKBlock(const KShape& shape, const float* in, const float* importance) {
  const int runs = KBlock::kValues / shape.run;
  const int end = shape.lowest_scale < 0 ? shape.lowest_scale : shape.highest_scale;  // The scale of the largest magnitude.
  const int farthest_code = shape.zero > 0 ? shape.zero : shape.codes - 1;
  float x[KBlock::kValues], weights[KBlock::kValues], scales[16];
  CopyWithin(kLargestHalf * static_cast<float>(std::abs(end) * farthest_code), in, KBlock::kValues, x);
  Line lines[16];
  float largest_minimum = 0;
  const auto run_of = [&](int run) { return Run{x + run * shape.run, weights + run * shape.run}; };
  for (int run = 0; run < runs; ++run) {
    const int first = run * shape.run;
    CopyImportance(importance == nullptr ? nullptr : importance + first, shape.run, weights + first);
    lines[run] = FitRun(shape, run_of(run));
    scales[run] = lines[run].scale;
    largest_minimum = std::max(largest_minimum, lines[run].minimum);
  }
  KBlock block;
  block.factor = FiniteHalf(LargestSigned(scales, runs) / static_cast<float>(end));
  if (shape.highest_minimum > 0) block.minimum_factor = FiniteHalf(largest_minimum / static_cast<float>(shape.highest_minimum));
  for (int run = 0; run < runs; ++run) ChooseRun(shape, run_of(run), lines[run], run, &block);
  return block;
}

}  // namespace tessera
