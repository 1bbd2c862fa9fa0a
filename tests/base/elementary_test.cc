#include "tessera/base/elementary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "gtest/gtest.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kPoints = 20'000;

// How far `found` is from the exact value, in units in the last place of the nearest double.
double UlpsFrom(double found, long double exact) {
  const double nearest = static_cast<double>(exact);
  if (std::isinf(nearest) || std::isinf(found)) return found == nearest ? 0 : kInfinity;
  const double unit = std::max(std::nextafter(std::fabs(nearest), kInfinity) - std::fabs(nearest), 0x1p-1074);
  return static_cast<double>(std::fabs((static_cast<long double>(found) - exact) / unit));
}

double Between(SeededRandom& random, double low, double high) { return low + (high - low) * random.Uniform(); }

double LargestError(double low, double high, const std::function<double(double)>& ours,
                    const std::function<long double(long double)>& reference) {
  SeededRandom random(1);
  double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = Between(random, low, high);
    largest = std::max(largest, UlpsFrom(ours(x), reference(x)));
  }
  return largest;
}

long double ExpReference(long double x) { return std::exp(x); }
long double LogReference(long double x) { return std::log(x); }
long double TanhReference(long double x) { return std::tanh(x); }

TEST(Elementary, HeaderExample) {
  const double logit = 1, largest = 3, temperature = 2, position = 5, frequency = 0.25;
  double weight = elementary::Exp((logit - largest) / temperature);
  auto [sine, cosine] = elementary::SinCos(position * frequency);
  EXPECT_NEAR(weight, std::exp(-1.0), 1e-16);
  EXPECT_NEAR(sine, std::sin(1.25), 1e-15);
  EXPECT_NEAR(cosine, std::cos(1.25), 1e-15);
}

TEST(Elementary, ExpIsWithinTwoUnitsEvenWhereResultsAreSubnormal) {
  EXPECT_LE(LargestError(-1, 1, elementary::Exp, ExpReference), 2);
  EXPECT_LE(LargestError(-708, 709.78, elementary::Exp, ExpReference), 2);
  EXPECT_LE(LargestError(-745.1, -708, elementary::Exp, ExpReference), 2);
  EXPECT_LE(LargestError(-1e-12, 1e-12, elementary::Exp, ExpReference), 2);
}

TEST(Elementary, ExpHasTheSpecialValuesOfTheStandard) {
  EXPECT_EQ(elementary::Exp(0.0), 1);
  EXPECT_EQ(elementary::Exp(-0.0), 1);
  EXPECT_EQ(elementary::Exp(kInfinity), kInfinity);
  EXPECT_EQ(elementary::Exp(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(elementary::Exp(kNaN)));
  EXPECT_TRUE(std::isfinite(elementary::Exp(709.782712893384)));  // ln of the largest double, rounded to nearest.
  EXPECT_EQ(elementary::Exp(709.7827128933841), kInfinity);
  EXPECT_EQ(elementary::Exp(-745.13), 0x1p-1074);
  EXPECT_EQ(elementary::Exp(-745.14), 0);
}

TEST(Elementary, LogIsWithinTwoUnitsOverAllPositiveNumbers) {
  EXPECT_LE(LargestError(0.5, 2, elementary::Log, LogReference), 2);
  EXPECT_LE(LargestError(1 - 1e-6, 1 + 1e-6, elementary::Log, LogReference), 2);
  EXPECT_LE(LargestError(1, 1e6, elementary::Log, LogReference), 2);
  SeededRandom random(2);
  double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = std::bit_cast<double>(random.Next() % 0x7FF0'0000'0000'0000u);  // Subnormals come 1 time in 2047.
    largest = std::max(largest, UlpsFrom(elementary::Log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LE(largest, 2);
}

TEST(Elementary, LogHasTheSpecialValuesOfTheStandard) {
  EXPECT_EQ(elementary::Log(1), 0);
  EXPECT_EQ(elementary::Log(0.0), -kInfinity);
  EXPECT_EQ(elementary::Log(-0.0), -kInfinity);
  EXPECT_EQ(elementary::Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(elementary::Log(-1)));
  EXPECT_TRUE(std::isnan(elementary::Log(-kInfinity)));
  EXPECT_TRUE(std::isnan(elementary::Log(kNaN)));
}

TEST(Elementary, PowIsWithinTwoUnitsOverTheWholeRangeOfResults) {
  SeededRandom random(3);
  double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = std::pow(10.0, Between(random, -12, 12));
    const double y = Between(random, -740, 709) / std::log(x);
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    largest = std::max(largest, UlpsFrom(elementary::Pow(x, y), exact));
    const double near_one = 1 + Between(random, -0.3, 0.3);
    largest = std::max(largest, UlpsFrom(elementary::Pow(near_one, 1500), std::pow(static_cast<long double>(near_one), 1500.0L)));
  }
  EXPECT_LE(largest, 2);
}

TEST(Elementary, PowGivesRotaryFrequenciesOfRealModels) {
  for (const double base : {10'000.0, 500'000.0, 1'000'000.0}) {
    for (int i = 0; i < 64; ++i) {
      const long double exact = std::pow(static_cast<long double>(base), -i / 64.0L);
      EXPECT_LE(UlpsFrom(elementary::Pow(base, -i / 64.0), exact), 1) << base << " " << i;
    }
  }
}

TEST(Elementary, PowHasTheSpecialValuesOfTheStandard) {
  const double values[] = {0.0, -0.0, 1,     -1,     0.5,    -0.5,       2,         -2,        3,          -3,
                           2.5, -2.5, 1e300, -1e300, 0x1p53, 0x1p53 - 1, 0x1p-1074, kInfinity, -kInfinity, kNaN};
  for (const double x : values) {
    for (const double y : values) {
      const double found = elementary::Pow(x, y), expected = std::pow(x, y);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found)) << x << "^" << y << " is " << found;
      } else {
        EXPECT_LE(UlpsFrom(found, expected), 1) << x << "^" << y << " is " << found << ", expected " << expected;
        EXPECT_EQ(std::signbit(found), std::signbit(expected)) << x << "^" << y;
      }
    }
  }
}

TEST(Elementary, SinAndCosAreWithinTheirBoundUpToAMillion) {
  SeededRandom random(4);
  long double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = Between(random, -1e6, 1e6);
    const auto [sine, cosine] = elementary::SinCos(x);
    largest = std::max({largest, std::fabs(sine - std::sin(static_cast<long double>(x))),
                        std::fabs(cosine - std::cos(static_cast<long double>(x)))});
  }
  EXPECT_LE(largest, 2e-16L);
}

TEST(Elementary, SinKeepsItsRelativePrecisionNearItsZeros) {
  double largest = 0;
  for (int n = -2000; n <= 2000; ++n) {
    if (n == 0) continue;
    const double x = n * 3.14159265358979323846;
    largest = std::max(largest, UlpsFrom(elementary::Sin(x), std::sin(static_cast<long double>(x))));
  }
  EXPECT_LE(largest, 2);
  EXPECT_LE(LargestError(-0.78, 0.78, elementary::Sin, [](long double x) { return std::sin(x); }), 2);
  EXPECT_LE(LargestError(-0.78, 0.78, elementary::Cos, [](long double x) { return std::cos(x); }), 2);
}

TEST(Elementary, SinAndCosOfLargeAnglesKeepTheirBound) {
  SeededRandom random(5);
  long double largest = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = std::ldexp(Between(random, 1, 2), 20 + static_cast<int>(random.Below(20)));
    const auto [sine, cosine] = elementary::SinCos(-x);
    largest = std::max({largest, std::fabs(sine - std::sin(-static_cast<long double>(x))),
                        std::fabs(cosine - std::cos(-static_cast<long double>(x)))});
  }
  EXPECT_LE(largest, 2e-16L);
}

TEST(Elementary, SinAndCosOfAnyFiniteNumberAreNumbersBetweenMinusOneAndOne) {
  SeededRandom random(6);
  for (int i = 0; i < kPoints; ++i) {
    const double x = std::bit_cast<double>(random.Next());
    if (!std::isfinite(x)) continue;
    const auto [sine, cosine] = elementary::SinCos(x);
    ASSERT_TRUE(std::fabs(sine) <= 1 && std::fabs(cosine) <= 1) << x;
  }
  EXPECT_TRUE(std::fabs(elementary::Sin(std::numeric_limits<double>::max())) <= 1);
  for (const double x : {kInfinity, -kInfinity, kNaN}) {
    EXPECT_TRUE(std::isnan(elementary::Sin(x)) && std::isnan(elementary::Cos(x))) << x;
  }
  EXPECT_TRUE(std::signbit(elementary::Sin(-0.0)));
  EXPECT_EQ(elementary::Cos(0), 1);
}

TEST(Elementary, TanhIsWithinTwoUnits) {
  EXPECT_LE(LargestError(-0.55, 0.55, elementary::Tanh, TanhReference), 2);
  EXPECT_LE(LargestError(-25, 25, elementary::Tanh, TanhReference), 2);
  EXPECT_LE(LargestError(-1e-9, 1e-9, elementary::Tanh, TanhReference), 2);
  EXPECT_EQ(elementary::Tanh(kInfinity), 1);
  EXPECT_EQ(elementary::Tanh(-kInfinity), -1);
  EXPECT_TRUE(std::isnan(elementary::Tanh(kNaN)));
  EXPECT_TRUE(std::signbit(elementary::Tanh(-0.0)));
}

// Bits once computed, so that a compiler that fuses or reorders the arithmetic is found out on any machine.
TEST(Elementary, BitsAreTheSameOnEveryMachine) {
  SeededRandom random(7);
  uint64_t digest = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = Between(random, -40, 40);
    const auto [sine, cosine] = elementary::SinCos(x * 1000);
    for (const double value :
         {elementary::Exp(x), elementary::Log(x * x), elementary::Tanh(x), sine, cosine, elementary::Pow(x * x, 0.3)}) {
      digest = MixBits(digest ^ std::bit_cast<uint64_t>(value));
    }
  }
  EXPECT_EQ(digest, 14823743213885198782u);
}

}  // namespace
}  // namespace tessera
