// Fractions of whole numbers of 64 bits, exact: a result that does not fit is none, never a rounded one.
//
//   const std::optional<Rational> half = Rational::Of(2, 4);       // 1/2
//   Rational::Sum(*half, *Rational::Of(1, 3));                               // 5/6
//
// Values. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/cpp20.h"

namespace tessera {

class Rational {
 public:
  constexpr Rational() = default;
  // REQUIRES: not the least of all, whose opposite does not fit.
  constexpr Rational(int64_t whole) : over_(whole) {}   // NOLINT: a whole number is one.
  // In lowest terms. None if `under` is 0, or one of them is the least of all.
  static std::optional<Rational> Of(int64_t over, int64_t under);

  int64_t over() const { return over_; }     // Has the sign.
  int64_t under() const { return under_; }   // Above 0.
  bool is_whole() const { return under_ == 1; }

  bool operator==(const Rational& other) const = default;

  // Return none where a number does not fit, perhaps one on the way.
  static std::optional<Rational> Sum(const Rational& a, const Rational& b);
  static std::optional<Rational> Product(const Rational& a, const Rational& b);
  static std::optional<Rational> Inverse(const Rational& a);   // None for 0.

 private:
  int64_t over_ = 0, under_ = 1;
};

}  // namespace tessera
