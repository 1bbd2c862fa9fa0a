// Numbers and formulas as people and models write them, in LaTeX or plain, compared exactly.
//
//   const std::optional<Expression> a = Expression::Parse("\\frac{2}{\\sqrt{2}} + x(x + 1)"), b = Expression::Parse("x^2 + x + \\sqrt 2");
//   a->Equals(*b);                                                 // true
//
// Decided are: whole numbers, decimals, fractions and mixed numbers ("1\frac{4}{5}"), sums, products, quotients, whole powers from -64 to
// 64, square roots of rational numbers, factorials up to 20, pi and other letters as unknowns, i as the square root of -1. An expression is
// a quotient of two sums of terms q * sqrt(d) * x^m * y^n ... with q rational and d free of squares. Such sums have one form each, so two
// expressions are equal where the products across are the same sum. A mixed number is a whole number followed by a fraction between 0 and
// 1; any other number before a fraction is a factor.
//
// Not decided, which Parse says by giving none: roots of anything else, logarithms and angles, unknowns with a number below them,
// inequalities, words (three letters in a row or more), and what needs more than 64 bits, 64 terms, 32 levels of brackets or 512 bytes.
//
// Values. Thread-safe (pure functions).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"
#include "tessera/runtime/scale/value/rational.h"

namespace tessera {

// sqrt(radicand) times unknowns with their powers, none of them 0, by name.
struct Monomial {
  std::vector<std::pair<std::string, int>> powers = {};
  int64_t radicand = 1;   // Without square factors; below 0: i times the root.

  auto operator<=>(const Monomial& other) const = default;
};

// Terms with factors other than 0; none: 0.
using TermSum = std::map<Monomial, Rational>;

class Expression {
 public:
  Expression(Rational number = 0);   // NOLINT: a number is one.
  static Expression Unknown(const std::string& name);
  static std::optional<Expression> Parse(absl::string_view text);

  // None of a result that cannot be had: a division by 0, a root that is not decided, numbers that are too large.
  static std::optional<Expression> Sum(const Expression& a, const Expression& b);
  static std::optional<Expression> Product(const Expression& a, const Expression& b);
  static std::optional<Expression> Quotient(const Expression& a, const Expression& b);
  static std::optional<Expression> Power(const Expression& base, const Expression& exponent);
  static std::optional<Expression> SquareRoot(const Expression& a);

  // The number it is, if it is a rational one.
  std::optional<Rational> AsRational() const;
  // False, too, where the numbers of the comparison are too large.
  bool Equals(const Expression& other) const;

 private:
  Expression(TermSum over, TermSum under) : over_(std::move(over)), under_(std::move(under)) {}
  static std::optional<Expression> WholePower(Expression base, int64_t exponent);

  TermSum over_, under_;   // under_ is not 0, and 1 where it could be a single term.
};

}  // namespace tessera
