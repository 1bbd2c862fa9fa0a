#include "tessera/runtime/scale/value/expression.h"

#include <cstdlib>
#include <numeric>

namespace tessera {
namespace {

constexpr size_t kMostTerms = 64;
constexpr int kMostPower = 64;
constexpr int64_t kMostRoot = int64_t{1'000'000'000'000};   // Its square factors are found by trying up to a million numbers.

TermSum SumOf(const Rational& number) {
  TermSum sum;
  if (number != Rational(0)) sum[Monomial()] = number;
  return sum;
}

const TermSum& One() {
  static const TermSum* const one = new TermSum(SumOf(1));
  return *one;
}

bool AddTerm(const Monomial& monomial, const Rational& factor, TermSum& sum) {
  const auto [place, is_new] = sum.try_emplace(monomial, factor);
  if (!is_new) {
    const std::optional<Rational> total = Rational::Sum(place->second, factor);
    if (!total.has_value()) return false;
    place->second = *total;
  }
  if (place->second == Rational(0)) sum.erase(place);
  return sum.size() <= kMostTerms;
}

std::optional<TermSum> Added(const TermSum& a, const TermSum& b) {
  TermSum sum = a;
  for (const auto& [monomial, factor] : b) {
    if (!AddTerm(monomial, factor, sum)) return std::nullopt;
  }
  return sum;
}

// The unknowns of both; none if a power is too large.
std::optional<Monomial> TimesUnknowns(const Monomial& a, const Monomial& b) {
  std::map<std::string, int> powers(a.powers.begin(), a.powers.end());
  for (const auto& [name, power] : b.powers) powers[name] += power;
  Monomial result;
  for (const auto& [name, power] : powers) {
    if (std::abs(power) > kMostPower) return std::nullopt;
    if (power != 0) result.powers.emplace_back(name, power);
  }
  return result;
}

// sqrt(a) sqrt(b) = divisor sqrt(a b / divisor^2), where that is their greatest common one; i i = -1.
bool MultiplyTerm(const Monomial& a, const Monomial& b, const Rational& factor, TermSum& sum) {
  std::optional<Monomial> product = TimesUnknowns(a, b);
  if (!product.has_value()) return false;
  const int64_t divisor = std::gcd(a.radicand, b.radicand);
  if (__builtin_mul_overflow(a.radicand / divisor, b.radicand / divisor, &product->radicand)) return false;
  const bool both_below = a.radicand < 0 && b.radicand < 0;   // Their product is above 0 already.
  const std::optional<Rational> total = Rational::Product(factor, both_below ? -divisor : divisor);
  return total.has_value() && AddTerm(*product, *total, sum);
}

std::optional<TermSum> Multiplied(const TermSum& a, const TermSum& b) {
  TermSum sum;
  for (const auto& [left, left_factor] : a) {
    for (const auto& [right, right_factor] : b) {
      const std::optional<Rational> factor = Rational::Product(left_factor, right_factor);
      if (!factor.has_value() || !MultiplyTerm(left, right, *factor, sum)) return std::nullopt;
    }
  }
  return sum;
}

// 1 / term: 1 / sqrt(d) = sqrt(d) / d.
std::optional<TermSum> InverseOfTerm(const Monomial& monomial, const Rational& factor) {
  const std::optional<Rational> below = Rational::Product(factor, monomial.radicand);
  if (!below.has_value()) return std::nullopt;
  const std::optional<Rational> inverse = Rational::Inverse(*below);
  if (!inverse.has_value()) return std::nullopt;
  Monomial result = monomial;
  for (auto& [name, power] : result.powers) power = -power;
  return TermSum{{result, *inverse}};
}

std::optional<Rational> RationalOf(const TermSum& sum) {
  if (sum.empty()) return Rational(0);
  if (sum.size() > 1 || sum.begin()->first != Monomial()) return std::nullopt;
  return sum.begin()->second;
}

}  // namespace

Expression::Expression(Rational number) : over_(SumOf(number)), under_(One()) {}

Expression Expression::Unknown(const std::string& name) { return Expression({{{.powers = {{name, 1}}}, 1}}, One()); }

std::optional<Expression> Expression::Sum(const Expression& a, const Expression& b) {
  if (a.under_ == b.under_) {
    std::optional<TermSum> over = Added(a.over_, b.over_);
    if (!over.has_value()) return std::nullopt;
    return Expression(*std::move(over), a.under_);
  }
  const std::optional<TermSum> left = Multiplied(a.over_, b.under_), right = Multiplied(b.over_, a.under_);
  std::optional<TermSum> under = Multiplied(a.under_, b.under_);
  if (!left.has_value() || !right.has_value() || !under.has_value()) return std::nullopt;
  std::optional<TermSum> over = Added(*left, *right);
  if (!over.has_value()) return std::nullopt;
  return Expression(*std::move(over), *std::move(under));
}

std::optional<Expression> Expression::Product(const Expression& a, const Expression& b) {
  std::optional<TermSum> over = Multiplied(a.over_, b.over_), under = Multiplied(a.under_, b.under_);
  if (!over.has_value() || !under.has_value()) return std::nullopt;
  return Expression(*std::move(over), *std::move(under));
}

std::optional<Expression> Expression::Quotient(const Expression& a, const Expression& b) {
  if (b.over_.empty()) return std::nullopt;
  if (b.over_.size() > 1) return Product(a, Expression(b.under_, b.over_));
  std::optional<TermSum> inverse = InverseOfTerm(b.over_.begin()->first, b.over_.begin()->second);
  if (!inverse.has_value()) return std::nullopt;
  const std::optional<Expression> over = Product(a, Expression(*std::move(inverse), One()));
  return over.has_value() ? Product(*over, Expression(b.under_, One())) : std::nullopt;
}

std::optional<Expression> Expression::WholePower(Expression base, int64_t exponent) {
  if (std::abs(exponent) > kMostPower) return std::nullopt;
  if (exponent < 0) {
    const std::optional<Expression> inverse = Quotient(Rational(1), base);
    if (!inverse.has_value()) return std::nullopt;
    base = *inverse;
  }
  std::optional<Expression> result = Expression(1);
  for (int64_t i = 0; i < std::abs(exponent) && result.has_value(); ++i) result = Product(*result, base);
  return result;
}

std::optional<Expression> Expression::Power(const Expression& base, const Expression& exponent) {
  const std::optional<Rational> number = exponent.AsRational();
  if (!number.has_value() || number->under() > 2) return std::nullopt;
  const std::optional<Expression> power = WholePower(base, number->over());
  return number->is_whole() || !power.has_value() ? power : SquareRoot(*power);
}

// sqrt(p / q) = sqrt(p q) / q.
std::optional<Expression> Expression::SquareRoot(const Expression& a) {
  const std::optional<Rational> number = a.AsRational();
  int64_t inside;
  if (!number.has_value() || __builtin_mul_overflow(number->over(), number->under(), &inside)) return std::nullopt;
  if (inside == 0) return Expression(0);
  if (std::abs(inside) > kMostRoot) return std::nullopt;
  int64_t outside = 1, rest = std::abs(inside);
  for (int64_t factor = 2; factor * factor <= rest; ++factor) {
    while (rest % (factor * factor) == 0) rest /= factor * factor, outside *= factor;
  }
  const std::optional<Rational> factor = Rational::Of(outside, number->under());
  if (!factor.has_value()) return std::nullopt;
  return Expression({{{.radicand = inside < 0 ? -rest : rest}, *factor}}, One());
}

std::optional<Rational> Expression::AsRational() const {
  return under_ == One() ? RationalOf(over_) : std::nullopt;
}

bool Expression::Equals(const Expression& other) const {
  const std::optional<TermSum> left = Multiplied(over_, other.under_), right = Multiplied(other.over_, under_);
  return left.has_value() && right.has_value() && *left == *right;
}

}  // namespace tessera
