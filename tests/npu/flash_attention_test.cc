#include "tessera/npu/flash_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

struct Head {
  Head(int positions, int size, uint64_t seed, float spread = 1) : query(Numbers(size, seed, spread)),
        keys(Numbers(positions * size, seed + 1, spread)), values(Numbers(positions * size, seed + 2, 1)) {}

  static std::vector<uint16_t> Numbers(int count, uint64_t seed, float spread) {
    SeededRandom random(seed);
    std::vector<uint16_t> numbers(static_cast<size_t>(count));
    for (uint16_t& number : numbers) number = FloatToHalf(spread * static_cast<float>(random.Gaussian()));
    return numbers;
  }

  std::vector<uint16_t> query, keys, values;
};

HmxAttention For(int size, int block = 512) {
  return {.block = block, .head_size = size, .scale = FloatToHalf(ScoreScale(1 / std::sqrt(static_cast<float>(size))))};
}

std::vector<uint16_t> Attended(const HmxAttention& attention, const Head& head, int first, int end) {
  std::vector<uint16_t> y(static_cast<size_t>(attention.head_size));
  HmxAttend(attention, head.query.data(), head.keys.data(), head.values.data(), first, end, y.data());
  return y;
}

// Softmax in double precision.
std::vector<double> Exact(const HmxAttention& attention, const Head& head, int first, int end) {
  const size_t size = static_cast<size_t>(attention.head_size);
  std::vector<double> scores, y(size);
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  for (int p = first; p < end; ++p) {
    double sum = 0;
    for (size_t d = 0; d < size; ++d) sum += double{HalfToFloat(head.query[d])} * HalfToFloat(head.keys[static_cast<size_t>(p) * size + d]);
    scores.push_back(sum * HalfToFloat(attention.scale));
    largest = std::max(largest, scores.back());
  }
  for (int p = first; p < end; ++p) {
    const double weight = std::exp2(scores[static_cast<size_t>(p - first)] - largest);
    total += weight;
    for (size_t d = 0; d < size; ++d) y[d] += weight * HalfToFloat(head.values[static_cast<size_t>(p) * size + d]);
  }
  for (double& number : y) number /= total;
  return y;
}

TEST(HmxFlashAttention, HeaderExample) {
  const Head head(100, 64, 1);
  std::vector<uint16_t> output(64);
  uint16_t* const y = output.data();
  const uint16_t *query = head.query.data(), *keys = head.keys.data(), *values = head.values.data();
  const HmxAttention attention = {.block = 512, .head_size = 64, .scale = FloatToHalf(ScoreScale(1.0f / 8))};
  HmxAttend(attention, query, keys, values, /*first=*/0, /*end=*/100, y);
  EXPECT_EQ(output, Attended(For(64), head, 0, 100));
}

TEST(HmxFlashAttention, IsSoftmaxAsFarAsHalvesGo) {
  for (const auto& [positions, size, block] : {std::tuple{1, 64, 512}, {100, 64, 32}, {1500, 64, 512}, {700, 128, 64}, {513, 256, 512}}) {
    const Head head(positions, size, static_cast<uint64_t>(positions));
    const HmxAttention attention = For(size, block);
    const std::vector<uint16_t> found = Attended(attention, head, positions / 3, positions);
    const std::vector<double> exact = Exact(attention, head, positions / 3, positions);
    double error = 0, length = 0;
    for (size_t d = 0; d < exact.size(); ++d) {
      error += std::pow(HalfToFloat(found[d]) - exact[d], 2);
      length += exact[d] * exact[d];
    }
    EXPECT_LT(std::sqrt(error / length), 4e-3) << positions << " positions of " << size << " in blocks of " << block;
  }
}

// What comes before its window, and how many positions come after it, is not the row's.
TEST(HmxFlashAttention, ARowsBitsDependOnlyOnItsOwnPositions) {
  const HmxAttention attention = For(64, 64);
  Head head(300, 64, 9);
  const std::vector<uint16_t> expected = Attended(attention, head, 100, 200);
  for (size_t i = 0; i < head.keys.size(); ++i) {
    if (i / 64 >= 100 && i / 64 < 200) continue;
    head.keys[i] = 0x7E00;   // NaN.
    head.values[i] = 0x7E00;
  }
  EXPECT_EQ(Attended(attention, head, 100, 200), expected);
}

// Blocks lie at multiples of their size in the text: what a window leaves out in front moves none of them.
TEST(HmxFlashAttention, BlocksOfAWindowLieAtTheBlocksOfTheText) {
  const HmxAttention attention = For(64, 64);
  Head head(200, 64, 11);
  for (size_t i = 0; i < 70 * 64; ++i) head.keys[i] = FloatToHalf(0);
  for (size_t d = 0; d < 64; ++d) head.query[d] = FloatToHalf(d == 0 ? 30.0f : 0.0f);
  for (size_t p = 70; p < 200; ++p) head.keys[p * 64] = FloatToHalf(20.0f + static_cast<float>(p % 3));
  EXPECT_EQ(Attended(attention, head, 0, 200), Attended(attention, head, 70, 200)) << "the first 70 weigh nothing beside the others";
}

TEST(HmxFlashAttention, NotANumberIsNotHidden) {
  const HmxAttention attention = For(64, 32);
  const auto all = [](const std::vector<uint16_t>& y, auto is) {
    for (const uint16_t number : y) {
      if (!is(HalfToFloat(number))) return false;
    }
    return true;
  };
  const auto is_nan = [](float x) { return std::isnan(x); };
  Head nan(100, 64, 13);
  nan.keys[50 * 64] = 0x7E00;
  EXPECT_TRUE(all(Attended(attention, nan, 0, 100), is_nan));
  Head infinite(100, 64, 13);
  for (size_t d = 0; d < 64; ++d) infinite.query[d] = infinite.keys[50 * 64 + d] = 0x7BFF;   // 65504 squared is beyond FP16.
  EXPECT_TRUE(all(Attended(attention, infinite, 0, 100), is_nan));
  Head masked(100, 64, 13);
  for (size_t d = 0; d < 64; ++d) masked.query[d] = 0x7BFF;
  for (uint16_t& key : masked.keys) key = 0xFBFF;
  EXPECT_TRUE(all(Attended(attention, masked, 0, 100), [](float x) { return x == 0; })) << "all scores are -infinity";
}

}  // namespace
}  // namespace tessera
