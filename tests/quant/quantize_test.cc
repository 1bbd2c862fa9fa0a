// How well the formats that search for a block (the K formats, IQ4_NL, T2 and T3) find one: quant/internal/formats/k_search.h and
// codebook_search.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"
#include "tessera/quant/codebook.h"

namespace tessera {
namespace {

using Values = std::vector<float>;
constexpr int kBlock = 256;
constexpr float kLargestHalf = 65504;

std::vector<std::byte> Quantized(BlockFormat format, const Values& x) {
  const BlockFormatInfo& info = InfoOf(format);
  const int64_t values = static_cast<int64_t>(x.size());
  std::vector<std::byte> bytes(values / info.values_per_block * info.bytes_per_block + 1, std::byte{0x5a});
  info.quantize(x.data(), values, bytes.data());
  EXPECT_EQ(bytes.back(), std::byte{0x5a}) << info.name << " wrote past its blocks";
  bytes.pop_back();
  return bytes;
}

Values ThereAndBack(BlockFormat format, const Values& x) {
  Values out(x.size());
  InfoOf(format).dequantize(Quantized(format, x).data(), static_cast<int64_t>(x.size()), out.data());
  return out;
}

double RootMeanSquareError(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// Weights as they are in models: nearly Gaussian, or with heavy tails (Student's t with 3 degrees of freedom).
Values GaussianValues(int count) {
  SeededRandom random(11);
  Values x(count);
  for (float& value : x) value = static_cast<float>(random.Gaussian());
  return x;
}

Values HeavyTailedValues(int count) {
  SeededRandom random(12);
  Values x(count);
  for (float& value : x) {
    const double a = random.Gaussian(), b = random.Gaussian(), c = random.Gaussian();
    value = static_cast<float>(random.Gaussian() / std::sqrt((a * a + b * b + c * c) / 3));
  }
  return x;
}

// What a format can hold, and how well it has to do on the two kinds of values.
struct Searching {
  BlockFormat format;
  int run, codes, zero;              // Values that share a scale, codes, the code of zero.
  int end_scale, highest_minimum;    // The scale integer of the largest magnitude; 0: no minima.
  double most_gaussian, most_heavy;  // At most this part of the error of plain rounding.
  double peer_gaussian, peer_heavy;  // llama.cpp's errors on the same values; 0: it has no such format.
};
// The peer's are root mean square errors of quantize_q2_K and its sisters as in llama-cpp-python 0.3.36, without importances.
const Searching kSearching[] = {
    {BlockFormat::kQ2_K, 16, 4, 0, 15, 15, 0.82, 0.79, 0.289880, 0.611135},
    {BlockFormat::kQ3_K, 16, 8, 4, -32, 0, 0.94, 0.96, 0.148348, 0.325124},
    {BlockFormat::kQ4_K, 32, 16, 0, 63, 63, 0.92, 0.92, 0.069917, 0.157910},
    {BlockFormat::kQ5_K, 32, 32, 0, 63, 63, 0.93, 0.94, 0.035152, 0.079761},
    {BlockFormat::kQ6_K, 16, 64, 32, -128, 0, 0.93, 0.96, 0.017473, 0.042254},
    {BlockFormat::kIQ4_NL, 32, 16, 0, 0, 0, 0.93, 0.97, 0.075426, 0.170645},
    {BlockFormat::kT2, 32, 4, 0, 0, 0, 0.84, 0.79, 0, 0},
    {BlockFormat::kT3, 32, 8, 0, 0, 0, 0.92, 0.95, 0, 0},
};

// The numbers that a format's codes stand for; empty: it has no code book.
absl::Span<const int8_t> CodebookOf(const Searching& format) {
  const Codebook* const book = format.format == BlockFormat::kIQ4_NL ? &kIq4NlCodebook
                               : format.format == BlockFormat::kT2   ? &kT2Codebook
                               : format.format == BlockFormat::kT3   ? &kT3Codebook
                                                                     : nullptr;
  if (book == nullptr) return {};
  return absl::MakeConstSpan(*book).first(format.codes);
}

int NearestInteger(float value, int lowest, int highest) {
  return static_cast<int>(std::clamp(std::round(value), static_cast<float>(lowest), static_cast<float>(highest)));
}

// Rounding to the nearest without a search: a run's scale lets its codes reach its largest value (and from its smallest, if there
// are minima), the factors let the integers reach the largest scale and minimum, and each integer and code is the nearest.
class PlainBlock {
 public:
  PlainBlock(const Searching& format, const float* x) : format_(format) {
    float largest_scale = 0, largest_minimum = 0;
    for (int first = 0; first < kBlock; first += format.run) {
      const auto [low, high] = std::minmax_element(x + first, x + first + format.run);
      const float minimum = format.highest_minimum > 0 ? std::max(-*low, 0.0f) : 0;
      const float largest = std::fabs(*low) > std::fabs(*high) ? *low : *high;
      const float scale = format.highest_minimum > 0 ? (*high + minimum) / static_cast<float>(format.codes - 1)
                                                     : largest / static_cast<float>(-format.zero);
      scales_.push_back(scale);
      minima_.push_back(minimum);
      if (std::fabs(scale) > std::fabs(largest_scale)) largest_scale = scale;
      largest_minimum = std::max(largest_minimum, minimum);
    }
    factor_ = HalfToFloat(FloatToHalf(largest_scale / static_cast<float>(format.end_scale)));
    if (format.highest_minimum == 0) return;
    minimum_factor_ = HalfToFloat(FloatToHalf(largest_minimum / static_cast<float>(format.highest_minimum)));
  }

  float Rounded(int i, float value) const {
    const int run = i / format_.run, end = std::abs(format_.end_scale);
    const int lowest_scale = format_.highest_minimum > 0 ? 0 : -end, highest_scale = format_.highest_minimum > 0 ? end : end - 1;
    const float scale = factor_ * static_cast<float>(NearestInteger(scales_[run] / factor_, lowest_scale, highest_scale));
    const float minimum = minimum_factor_ == 0 ? 0 : minimum_factor_ * std::round(minima_[run] / minimum_factor_);
    const int code = NearestInteger((value + minimum) / scale, -format_.zero, format_.codes - 1 - format_.zero);
    return scale * static_cast<float>(code) - minimum;
  }

 private:
  const Searching& format_;
  std::vector<float> scales_, minima_;
  float factor_ = 0, minimum_factor_ = 0;
};

Values PlainlyRounded(const Searching& format, const Values& x) {
  Values out(x.size());
  for (size_t block = 0; block < x.size(); block += kBlock) {
    const PlainBlock plain(format, &x[block]);
    for (int i = 0; i < kBlock; ++i) out[block + i] = plain.Rounded(i, x[block + i]);
  }
  return out;
}

float LargestOfGroup(const Values& x, size_t i) {
  const auto group = x.begin() + i / 32 * 32;
  return *std::max_element(group, group + 32, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

// The same for a code book: the largest value meets its end.
Values PlainlyRoundedByCodebook(absl::Span<const int8_t> numbers, const Values& x) {
  Values out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float d = HalfToFloat(FloatToHalf(LargestOfGroup(x, i) / numbers.front()));
    out[i] = d * *std::min_element(numbers.begin(), numbers.end(),
                                   [&](int a, int b) { return std::fabs(d * a - x[i]) < std::fabs(d * b - x[i]); });
  }
  return out;
}

// And for codes that stand for even steps in groups of 32, as those of Q4_0: -codes / 2 to codes / 2 - 1.
Values RoundedToEvenSteps(int codes, const Values& x) {
  Values out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float d = LargestOfGroup(x, i) / static_cast<float>(-codes / 2);
    out[i] = d * static_cast<float>(NearestInteger(x[i] / d, -codes / 2, codes / 2 - 1));
  }
  return out;
}

TEST(Quantize, SearchErrsLessThanPlainRounding) {
  for (const Searching& format : kSearching) {
    const auto part = [&](const Values& x) {
      const absl::Span<const int8_t> numbers = CodebookOf(format);
      const Values plain = numbers.empty() ? PlainlyRounded(format, x) : PlainlyRoundedByCodebook(numbers, x);
      return RootMeanSquareError(ThereAndBack(format.format, x), x) / RootMeanSquareError(plain, x);
    };
    EXPECT_LE(part(GaussianValues(64 * kBlock)), format.most_gaussian) << InfoOf(format.format).name;
    EXPECT_LE(part(HeavyTailedValues(64 * kBlock)), format.most_heavy) << InfoOf(format.format).name;
  }
}

TEST(Quantize, SearchErrsNoMoreThanAnotherEngine) {
  for (const Searching& format : kSearching) {
    if (format.peer_gaussian == 0) continue;
    const auto error = [&](const Values& x) { return RootMeanSquareError(ThereAndBack(format.format, x), x); };
    EXPECT_LE(error(GaussianValues(64 * kBlock)), format.peer_gaussian) << InfoOf(format.format).name;
    EXPECT_LE(error(HeavyTailedValues(64 * kBlock)), format.peer_heavy) << InfoOf(format.format).name;
  }
}

// Fewer bits per value must not give a smaller error: otherwise one of the two formats is not used well.
TEST(Quantize, ErrorsFallWithTheBitsOfTheFormat) {
  const Values x = GaussianValues(64 * kBlock);
  using F = BlockFormat;
  for (const std::vector<F>& formats : {std::vector<F>{F::kQ2_K, F::kQ3_K, F::kQ4_K, F::kQ5_K, F::kQ6_K, F::kQ8_0, F::kBF16, F::kF16},
                                        std::vector<F>{F::kT2, F::kT3, F::kIQ4_NL, F::kQ5_0, F::kQ8_0}}) {
    double last = std::numeric_limits<double>::infinity();
    for (const F format : formats) {
      const double error = RootMeanSquareError(ThereAndBack(format, x), x);
      EXPECT_LT(error, last) << InfoOf(format).name;
      last = error;
    }
  }
}

// What a code book is for: with as many bits, even steps err more. So does plain rounding to the K formats of as many bits, whose scales
// hold for 16 values alone.
TEST(Quantize, FewBitsWithACodebookErrLessThanEvenSteps) {
  const Values x = GaussianValues(64 * kBlock);
  const auto error = [&](const Values& rounded) { return RootMeanSquareError(rounded, x); };
  const double two = error(ThereAndBack(BlockFormat::kT2, x)), three = error(ThereAndBack(BlockFormat::kT3, x));
  EXPECT_LE(two, 0.303);
  EXPECT_LE(three, 0.150);
  EXPECT_LE(two, 0.87 * error(RoundedToEvenSteps(4, x)));
  EXPECT_LE(three, 0.89 * error(RoundedToEvenSteps(8, x)));
  EXPECT_LT(two, error(PlainlyRounded(kSearching[0], x)));
  EXPECT_LT(three, error(PlainlyRounded(kSearching[1], x)));
}

// Searched on any machine, with any instructions: the hash (FNV-1a) of 512 blocks each.
TEST(Quantize, FewBitsAreTheSameBytesEachTime) {
  for (const auto& [format, expected] : {std::pair(BlockFormat::kT2, 0x4cecd7eaa5084d5cu), {BlockFormat::kT3, 0x4818b3da881d91f9u}}) {
    const std::vector<std::byte> bytes = Quantized(format, GaussianValues(64 * kBlock));
    uint64_t hash = 0xcbf29ce484222325;
    for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    EXPECT_EQ(hash, expected) << InfoOf(format).name;
    EXPECT_EQ(Quantized(format, GaussianValues(64 * kBlock)), bytes) << InfoOf(format).name;
  }
}

// The end of the code book is a power of two, so the scale of a number of FP16 is one of FP16, down to the smallest normal one.
TEST(Quantize, ConstantGroupsOfFewBitsAreExact) {
  for (const BlockFormat format : {BlockFormat::kT2, BlockFormat::kT3}) {
    for (int bits = 0; bits <= 0xffff; bits += 37) {
      const float number = HalfToFloat(static_cast<uint16_t>(bits));
      if (!std::isfinite(number) || std::fabs(number) < 0x1p-7f) continue;
      const Values constant(32, number);
      ASSERT_EQ(ThereAndBack(format, constant), constant) << InfoOf(format).name << " " << number;
    }
  }
}

TEST(Quantize, ABlockDoesNotDependOnItsNeighbours) {
  const Values x = HeavyTailedValues(3 * kBlock);
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize == nullptr) continue;
    std::vector<std::byte> joined;
    for (int first = 0; first < 3 * kBlock; first += info.values_per_block) {
      const std::vector<std::byte> one = Quantized(info.format, {x.begin() + first, x.begin() + first + info.values_per_block});
      joined.insert(joined.end(), one.begin(), one.end());
    }
    EXPECT_EQ(joined, Quantized(info.format, x)) << info.name;
  }
}

TEST(Quantize, ScalingABlockByAPowerOfTwoScalesItsValues) {
  const Values x = GaussianValues(kBlock);
  for (const Searching& format : kSearching) {
    const Values once = ThereAndBack(format.format, x);
    for (const float power : {0x1p-2f, 0x1p8f}) {  // So that scales stay normal numbers of FP16.
      Values scaled = x, expected = once;
      for (float& value : scaled) value *= power;
      for (float& value : expected) value *= power;
      EXPECT_EQ(ThereAndBack(format.format, scaled), expected) << InfoOf(format.format).name << " times " << power;
    }
  }
}

// Runs without any spread, on either side of zero, where fits have nothing to divide by. Signed scales reach one step further
// below zero than above, so one of the two signs may miss a step.
TEST(Quantize, ConstantRunsKeepTheirValue) {
  for (const Searching& format : kSearching) {
    Values x(kBlock);
    for (int i = 0; i < kBlock; ++i) x[i] = i / format.run % 2 == 0 ? 3.0f : -3.0f;
    const Values out = ThereAndBack(format.format, x);
    const double bound = 3.0 / 512 + (format.end_scale < 0 ? 3.0 / -format.end_scale : 0);
    for (int i = 0; i < kBlock; ++i) ASSERT_NEAR(out[i], x[i], bound) << InfoOf(format.format).name << " value " << i;
  }
}

// Numbers that FP16 scales cannot reach, or that are none. The rest of the block is what it can be.
TEST(Quantize, SearchingFormatsGiveFiniteBlocksForAnyValues) {
  const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  const float odd[] = {NAN,      -NAN, infinity, -infinity, largest,
                       -largest, 1e9f, -1e9f,    1e-30f,    std::numeric_limits<float>::denorm_min()};
  for (const Searching& format : kSearching) {
    for (const float value : odd) {
      Values one = GaussianValues(kBlock), run = one, alternating = one, all(kBlock, value);
      one[37] = value;
      std::fill_n(run.begin() + 32, format.run, value);
      for (int i = 0; i < kBlock; i += 2) alternating[i] = i % 4 == 0 ? value : -value;
      for (const Values& x : {one, run, alternating, all}) {
        for (const float y : ThereAndBack(format.format, x)) {
          ASSERT_TRUE(std::isfinite(y)) << InfoOf(format.format).name << " of " << value;
        }
      }
    }
  }
}

TEST(Quantize, NotANumberCountsAsZero) {
  Values with_nan = GaussianValues(kBlock), with_zero = with_nan;
  with_nan[100] = NAN, with_zero[100] = 0;
  for (const Searching& format : kSearching) EXPECT_EQ(Quantized(format.format, with_nan), Quantized(format.format, with_zero));
}

TEST(Quantize, AValueTooLargeBecomesTheLargestNumber) {
  for (const Searching& format : kSearching) {
    const Values x = ThereAndBack(format.format, Values(kBlock, std::numeric_limits<float>::infinity()));
    const int farthest_code = format.zero > 0 ? format.zero : format.codes - 1;
    const absl::Span<const int8_t> numbers = CodebookOf(format);
    const int farthest = numbers.empty() ? std::abs(format.end_scale) * farthest_code : -numbers.front();
    const float expected = kLargestHalf * static_cast<float>(farthest);
    for (const float value : x) ASSERT_FLOAT_EQ(value, expected) << InfoOf(format.format).name;
  }
}

TEST(Quantize, AValueTooSmallBecomesZero) {
  for (const Searching& format : kSearching) {
    const Values zeros(kBlock, 0);
    EXPECT_EQ(ThereAndBack(format.format, Values(kBlock, 0x1p-31f)), zeros) << InfoOf(format.format).name;
  }
}

}  // namespace
}  // namespace tessera
