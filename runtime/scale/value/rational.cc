#include "tessera/runtime/scale/value/rational.h"

#include <limits>
#include <numeric>

namespace tessera {

std::optional<Rational> Rational::Of(int64_t over, int64_t under) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  if (under == 0 || over == kLeast || under == kLeast) return std::nullopt;
  const int64_t divisor = under < 0 ? -std::gcd(over, under) : std::gcd(over, under);
  Rational result(over / divisor);
  result.under_ = under / divisor;
  return result;
}

std::optional<Rational> Rational::Sum(const Rational& a, const Rational& b) {
  const int64_t divisor = std::gcd(a.under(), b.under());
  int64_t left, right, over, under;
  const bool too_large = __builtin_mul_overflow(a.over(), b.under() / divisor, &left) ||
                         __builtin_mul_overflow(b.over(), a.under() / divisor, &right) ||
                         __builtin_add_overflow(left, right, &over) || __builtin_mul_overflow(a.under() / divisor, b.under(), &under);
  return too_large ? std::nullopt : Rational::Of(over, under);
}

std::optional<Rational> Rational::Product(const Rational& a, const Rational& b) {
  const int64_t first = std::gcd(a.over(), b.under()), second = std::gcd(b.over(), a.under());
  int64_t over, under;
  const bool too_large = __builtin_mul_overflow(a.over() / first, b.over() / second, &over) ||
                         __builtin_mul_overflow(a.under() / second, b.under() / first, &under);
  return too_large ? std::nullopt : Rational::Of(over, under);
}

std::optional<Rational> Rational::Inverse(const Rational& a) { return Rational::Of(a.under(), a.over()); }

}  // namespace tessera
