#include "tessera/base/elementary.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tessera::elementary {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// 1 / n!, each rounded to the nearest double: n! is exact up to 22!.
constexpr std::array<double, 19> kInverseFactorial = [] {
  std::array<double, 19> inverse{};
  double factorial = 1;
  for (int n = 0; n < 19; ++n) {
    if (n > 1) factorial *= n;
    inverse[n] = 1 / factorial;
  }
  return inverse;
}();

double Magnitude(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & ~(uint64_t{1} << 63)); }
bool IsNegative(double x) { return std::bit_cast<uint64_t>(x) >> 63 != 0; }                        // True for -0, too.
double PowerOfTwo(int n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }  // -1022 <= n <= 1023.

// The nearest whole number: adding 1.5 * 2^52 leaves no room for a fraction. |x| <= 2^51.
double Round(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

// A sum of two doubles that do not overlap, for about 106 bits of precision (Dekker 1971, Knuth 4.2.2).
struct Pair {
  double high;
  double low;
};

Pair TwoSum(double a, double b) {  // a + b exactly.
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Pair TwoProduct(double a, double b) {  // a * b exactly, from halves of 26 bits, for |a|, |b| < 2^995.
  constexpr double kSplitter = 0x1p27 + 1;
  const double a_scaled = kSplitter * a, a_high = a_scaled - (a_scaled - a), a_low = a - a_high;
  const double b_scaled = kSplitter * b, b_high = b_scaled - (b_scaled - b), b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Pair Add(Pair a, Pair b) {
  const Pair sum = TwoSum(a.high, b.high);
  return TwoSum(sum.high, sum.low + (a.low + b.low));
}

Pair Multiply(Pair a, Pair b) {
  const Pair product = TwoProduct(a.high, b.high);
  return TwoSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Pair Divide(Pair a, Pair b) {
  const double quotient = a.high / b.high;
  const Pair back = TwoProduct(quotient, b.high);
  const double rest = ((a.high - back.high) - back.low + a.low) - quotient * b.low;
  return TwoSum(quotient, rest / b.high);
}

// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)), so that the logarithm of a number near 1 loses nothing.
struct Decomposed {
  double mantissa;
  int exponent;
};

Decomposed Decompose(double x) {  // REQUIRES: 0 < x < infinity.
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1, kSqrt2Fraction = 0x6A09E667F3BCD;
  int exponent = 0;
  if (x < 0x1p-1022) {  // Subnormal.
    x *= 0x1p54;
    exponent = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x), fraction = bits & kFraction;
  const bool upper = fraction > kSqrt2Fraction;
  exponent += static_cast<int>(bits >> 52) - 1023 + upper;
  return {std::bit_cast<double>(fraction | static_cast<uint64_t>(1023 - upper) << 52), exponent};
}

constexpr double kLn2High = 0x1.62e42feep-1;       // 32 bits: the product with an exponent of 11 bits is exact.
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;  // The next 53.

// Returns exp(high + low) for |low| below a few units in the last place of high. REQUIRES: not NaN.
// high = k ln 2 + r with |r| <= ln(2) / 2. exp(r) is the Taylor series; the first missing term, r^14 / 14!, is below 2^-57.
double ExpOfSum(double high, double low) {
  if (high > 709.8) return kInfinity;
  if (high < -745.2) return 0;
  const double k = Round(high * 0x1.71547652b82fep+0);  // 1 / ln 2.
  const double r_high = high - k * kLn2High, r_low = k * kLn2Low - low;
  const double r = r_high - r_low, lost = (r_high - r) - r_low;
  const double z = r * r;
  double even = kInverseFactorial[12], odd = kInverseFactorial[13];  // Two short chains instead of one long one.
  for (int n = 10; n >= 2; n -= 2) {
    even = even * z + kInverseFactorial[n];
    odd = odd * z + kInverseFactorial[n + 1];
  }
  const double value = 1 + (r + (lost + z * (even + r * odd)));
  const int exponent = static_cast<int>(k), half = exponent / 2;  // In two steps: 2^1024 and 2^-1075 are not normal doubles.
  return value * PowerOfTwo(half) * PowerOfTwo(exponent - half);
}

// Returns ln x as a pair, to about 2^-70. The series is 2 artanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...) with s = (m - 1) / (m + 1), s^2 <
// 0.0295.
Pair LogAsPair(double x) {  // REQUIRES: 0 < x < infinity.
  const auto [mantissa, exponent] = Decompose(x);
  const Pair s = Divide({mantissa - 1, 0}, TwoSum(mantissa, 1));
  const Pair z = Multiply(s, s);
  Pair sum = {1.0 / 31, 0};
  for (int n = 29; n >= 1; n -= 2) sum = Add(Multiply(sum, z), Divide({1, 0}, {static_cast<double>(n), 0}));
  const Pair series = Multiply({2 * s.high, 2 * s.low}, sum);
  const Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  return Add(Multiply({static_cast<double>(exponent), 0}, ln2), series);
}

// x^y for x > 0 finite, x != 1, y finite and not 0.
double PowOfPositive(double x, double y) {
  const double estimate = y * Log(x);
  if (estimate > 800) return kInfinity;
  if (estimate < -800) return 0;
  const Pair product = Multiply({y, 0}, LogAsPair(x));  // |y| < 2^63 here, as |ln x| >= 2^-53.
  return ExpOfSum(product.high, product.low);
}

bool IsWhole(double y) { return Magnitude(y) >= 0x1p52 || static_cast<double>(static_cast<int64_t>(y)) == y; }
bool IsOdd(double y) { return Magnitude(y) < 0x1p53 && IsWhole(y) && (static_cast<int64_t>(y) & 1) != 0; }

// An angle reduced by whole quarter turns: x = quarter * pi/2 + high + low with |high| <= pi/4 (a little more at the edges).
struct ReducedAngle {
  double high;
  double low;
  int quarter;  // 0..3
};

// |x| <= 2^20 (Cody and Waite 1980): n < 2^20, so its products with the two 33-bit parts of pi/2 are exact, and so is the first
// subtraction. The three parts reach 2^-122, far below what n times their error could show.
ReducedAngle ReduceSmall(double x) {
  constexpr double kPart1 = 0x1.921fb544p+0, kPart2 = 0x1.0b4611a6p-34, kPart3 = 0x1.3198a2e037073p-69;
  const double n = Round(x * 0x1.45f306dc9c883p-1);  // 2 / pi.
  const double rest = x - n * kPart1, part2 = n * kPart2;
  const Pair r = TwoSum(rest, -part2);
  const double low = r.low - n * kPart3;
  const double high = r.high + low;
  return {high, (r.high - high) + low, static_cast<int>(static_cast<int64_t>(n) & 3)};
}

// As ReduceSmall, for any finite x, with pi/2 in three full doubles and exact products, good for |x| up to 2^40. Larger x are first brought
// below 2^40 by powers of two. Nothing depends on the angle of such a number, but there must be a result.
ReducedAngle ReduceLarge(double x) {
  constexpr double kPart1 = 0x1.921fb54442d18p+0, kPart2 = 0x1.1a62633145c07p-54, kPart3 = -0x1.f1976b7ed8fbcp-110;
  while (Magnitude(x) > 0x1p40) x *= 0x1p-40;
  const double n = Round(x * 0x1.45f306dc9c883p-1);
  const Pair first = TwoProduct(n, kPart1), second = TwoProduct(n, kPart2);
  Pair r = Add({x - first.high, 0}, {-first.low, 0});
  r = Add(r, {-second.high, -second.low});
  r = Add(r, {-n * kPart3, 0});
  return {r.high, r.low, static_cast<int>(static_cast<int64_t>(n) & 3)};
}

// Returns sin and cos of high + low by the Taylor series to r^17 and r^16. The next terms are below 2^-58 for |r| <= pi/4.
SineCosine SeriesOf(double high, double low) {
  const double z = high * high;
  double sine = kInverseFactorial[17], cosine = kInverseFactorial[16];
  for (int n = 15; n >= 3; n -= 2) sine = kInverseFactorial[n] - z * sine;
  for (int n = 14; n >= 4; n -= 2) cosine = kInverseFactorial[n] - z * cosine;
  const double half = 0.5 * z, rest = 1 - half;
  return {high + (low * (1 - half) - high * z * sine), rest + (((1 - rest) - half) + (z * z * cosine - high * low))};
}

}  // namespace

double Exp(double x) { return x != x ? x : ExpOfSum(x, 0); }

// ln m = f - (f^2/2 - s (f^2/2 + R)) with f = m - 1, s = f / (2 + f), R = 2 s^2/3 + 2 s^4/5 + .... The two large terms are exact or nearly
// so, and the rounded terms are small in comparison. The series stops below 2^-60.
double Log(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0)) return kNaN;
  if (x == kInfinity) return x;
  const auto [mantissa, exponent] = Decompose(x);
  const double f = mantissa - 1, s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  double series = 2.0 / 23;
  for (int n = 21; n >= 3; n -= 2) series = series * z + 2.0 / n;
  const double small = half_square - (s * (half_square + z * series) + exponent * kLn2Low);
  return exponent * kLn2High - (small - f);
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kNaN;
  const double size = Magnitude(x);
  if (Magnitude(y) == kInfinity) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0;
  }
  const bool negative = IsNegative(x) && IsOdd(y);
  double result;
  if (size == 0 || size == kInfinity) {
    result = (size == 0) == (y > 0) ? 0 : kInfinity;
  } else {
    if (IsNegative(x) && !IsWhole(y)) return kNaN;
    result = size == 1 ? 1 : PowOfPositive(size, y);
  }
  return negative ? -result : result;
}

SineCosine SinCos(double x) {
  const double size = Magnitude(x);
  if (!(size < kInfinity)) return {kNaN, kNaN};
  if (size < 0x1p-27) return {x, 1};  // x^3/6 is below half a unit; keeps -0.
  const ReducedAngle angle = size <= 0x1p20 ? ReduceSmall(x) : ReduceLarge(x);
  const auto [sine, cosine] = SeriesOf(angle.high, angle.low);
  switch (angle.quarter) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// Near 0: Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) to the eighth level, as x minus a correction. The error is
// below 2^-59 of x for |x| < 0.55. Elsewhere: 1 - 2 / (exp(2|x|) + 1), where the fraction is below a half.
double Tanh(double x) {
  if (x != x) return x;
  const double size = Magnitude(x);
  if (size < 0x1p-27) return x;  // x^3/3 is below half a unit; keeps -0.
  if (size < 0.55) {
    const double z = x * x;
    const double numerator = 675675 + z * (45045 + z * (594 + z));
    const double denominator = 2027025 + z * (945945 + z * (51975 + z * (630 + z)));
    return x - x * (z * numerator / denominator);
  }
  const double result = size > 20 ? 1 : 1 - 2 / (Exp(2 * size) + 1);
  return IsNegative(x) ? -result : result;
}

}  // namespace tessera::elementary
