#include "tessera/base/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "tessera/base/random.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "tessera/base/cpu_features.h"
#endif

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(Half, HeaderExample) {
  const uint16_t bits = 0x3C00;
  const float value = 1.0f / 3;
  float scale = HalfToFloat(bits);
  uint16_t stored = FloatToHalf(value);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(stored, 0x3555);
}

TEST(Half, EveryHalfHasTheValueItsFieldsSay) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 0x1F, mantissa = bits & 0x3FF;
    if (exponent == 31) continue;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(Bits(value), Bits(static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude))) << bits;
  }
  EXPECT_EQ(HalfToFloat(0x7C00), kInfinity);
  EXPECT_EQ(HalfToFloat(0xFC00), -kInfinity);
}

TEST(Half, EveryHalfComesBackFromFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7FFF) > 0x7C00) continue;  // NaN.
    ASSERT_EQ(FloatToHalf(HalfToFloat(static_cast<uint16_t>(bits))), bits);
  }
}

// Between each two neighbours: the middle goes to the even one, what is just beside it to the nearer.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t low = 0; low < 0x7C00; ++low) {
    const uint32_t high = low + 1;
    const double above = high == 0x7C00 ? 65536.0 : HalfToFloat(static_cast<uint16_t>(high));
    const float middle = static_cast<float>((HalfToFloat(static_cast<uint16_t>(low)) + above) / 2);  // Exact in a float.
    const uint32_t even = (low & 1) == 0 ? low : high;
    ASSERT_EQ(FloatToHalf(middle), even) << low;
    ASSERT_EQ(FloatToHalf(-middle), even | 0x8000) << low;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, kInfinity)), high) << low;
  }
}

TEST(Half, TooLargeBecomesInfinityAndTooSmallBecomesZeroOfTheSameSign) {
  EXPECT_EQ(FloatToHalf(1e30f), 0x7C00);
  EXPECT_EQ(FloatToHalf(-kInfinity), 0xFC00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(FloatToHalf(-0.0f), 0x8000);
}

TEST(Half, NanStaysNan) {
  for (uint32_t payload : {0x00000001u, 0x00400000u, 0x007FFFFFu}) {
    const float nan = std::bit_cast<float>(0xFF800000u | payload);
    EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(nan)))) << payload;
    EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(nan)))) << payload;
    EXPECT_EQ(FloatToHalf(nan) & 0x8000, 0x8000);
  }
}

TEST(BFloat16, EveryValueComesBackAndTheMiddleGoesToTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const float value = BFloat16ToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(Bits(value), bits << 16);
    ASSERT_EQ(FloatToBFloat16(value), bits);
    ASSERT_EQ(FloatToBFloat16(-value), bits | 0x8000);
    const float middle = std::bit_cast<float>((bits << 16) + 0x8000);
    ASSERT_EQ(FloatToBFloat16(middle), (bits & 1) == 0 ? bits : bits + 1);
    ASSERT_EQ(FloatToBFloat16(std::bit_cast<float>((bits << 16) + 0x8001)), bits + 1);
    ASSERT_EQ(FloatToBFloat16(std::bit_cast<float>((bits << 16) + 0x7FFF)), bits);
  }
  EXPECT_EQ(FloatToBFloat16(kInfinity), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(std::numeric_limits<float>::max()), 0x7F80);  // Nearer to 2^128 than to what comes before.
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) uint16_t HardwareToHalf(float value) {
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) float HardwareToFloat(uint16_t bits) { return _cvtsh_ss(bits); }

TEST(Half, HasTheBitsOfTheHardware) {
  if (BestKernelPath() == KernelPath::kPortable) GTEST_SKIP() << "this CPU has no conversion of its own";
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    ASSERT_EQ(Bits(HalfToFloat(static_cast<uint16_t>(bits))), Bits(HardwareToFloat(static_cast<uint16_t>(bits)))) << bits;
  }
  SeededRandom random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const float any = std::bit_cast<float>(static_cast<uint32_t>(random.Next()));
    ASSERT_EQ(FloatToHalf(any), HardwareToHalf(any)) << Bits(any);
    const float in_range = std::bit_cast<float>(0x32000000u + static_cast<uint32_t>(random.Below(0x17000000)));
    ASSERT_EQ(FloatToHalf(in_range), HardwareToHalf(in_range)) << Bits(in_range);
  }
}
#endif

}  // namespace
}  // namespace tessera
