// Expression::Parse: sums of products of factors, as LaTeX and plain text have them.
#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/scale/value/expression.h"

namespace tessera {
namespace {

using Result = std::optional<Expression>;

constexpr size_t kMostBytes = 512;
constexpr int kMostDepth = 32;
constexpr int kMostFactorial = 20;
constexpr absl::string_view kUnknowns[] = {"pi",    "infty",   "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta",
                                           "eta",   "theta",   "iota",  "kappa", "lambda", "mu",   "nu",      "xi",         "rho",
                                           "sigma", "tau",     "phi",   "varphi", "chi",   "psi",  "omega"};

class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  Result Whole() {
    const Result sum = Sum();
    Skip();
    return rest_.empty() ? sum : std::nullopt;
  }

 private:
  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool NextIs(char c) {
    Skip();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Consume(absl::string_view sign) {
    Skip();
    return absl::ConsumePrefix(&rest_, sign);
  }
  // A command with this name, and not one that only begins so.
  bool ConsumeCommand(absl::string_view name) {
    Skip();
    const bool is = rest_.size() > name.size() && rest_[0] == '\\' && rest_.substr(1, name.size()) == name &&
                    (rest_.size() == name.size() + 1 || !absl::ascii_isalpha(static_cast<unsigned char>(rest_[name.size() + 1])));
    if (is) rest_.remove_prefix(name.size() + 1);
    return is;
  }
  bool DigitIsNext() {
    Skip();
    return !rest_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[0]));
  }

  Result Sum() {
    if (++depth_ > kMostDepth) return std::nullopt;
    const bool below = Consume("-");
    if (!below) Consume("+");
    Result sum = Product();
    if (below && sum.has_value()) sum = Expression::Product(Rational(-1), *sum);
    while (sum.has_value() && (NextIs('+') || NextIs('-'))) {
      const bool minus = rest_[0] == '-';
      rest_.remove_prefix(1);
      Result term = Product();
      if (minus && term.has_value()) term = Expression::Product(Rational(-1), *term);
      sum = term.has_value() ? Expression::Sum(*sum, *term) : std::nullopt;
    }
    --depth_;
    return sum;
  }

  Result Product() {
    Result product = Factor();
    for (bool alone = true; product.has_value(); alone = false) {
      if (Consume("*") || ConsumeCommand("cdot") || ConsumeCommand("times")) {
        const Result factor = SignedFactor();
        product = factor.has_value() ? Expression::Product(*product, *factor) : std::nullopt;
      } else if (Consume("/") || ConsumeCommand("div")) {
        const Result factor = SignedFactor();
        product = factor.has_value() ? Expression::Quotient(*product, *factor) : std::nullopt;
      } else if (FactorIsNext()) {
        product = Beside(*product, alone);
      } else {
        return product;
      }
    }
    return std::nullopt;
  }

  // After an operator a sign may stand: "6 / -2".
  Result SignedFactor() {
    const bool below = Consume("-");
    const Result factor = Factor();
    return below && factor.has_value() ? Expression::Product(Rational(-1), *factor) : factor;
  }

  bool FactorIsNext() {
    Skip();
    if (rest_.empty()) return false;
    const unsigned char c = static_cast<unsigned char>(rest_[0]);
    return absl::ascii_isalnum(c) || c == '(' || c == '[' || c == '{' || c == '\\';
  }

  // A factor without an operator before it. After a whole number that stands `alone` a fraction between 0 and 1 is added: "1\frac{4}{5}",
  // "137 1/2".
  Result Beside(const Expression& before, bool alone) {
    const bool after_whole = whole_number_ended_;
    if (DigitIsNext()) return after_whole && alone ? MixedNumber(before) : std::nullopt;   // "x2" says nothing.
    const bool fraction = absl::StartsWith(rest_, "\\frac");
    const Result factor = Factor();
    if (!factor.has_value()) return std::nullopt;
    const std::optional<Rational> number = factor->AsRational();
    const bool mixed = after_whole && fraction && number.has_value() && number->over() > 0 && number->over() < number->under();
    if (mixed && !alone) return std::nullopt;   // "2 * 1\frac{4}{5}" can be read in two ways.
    return mixed ? Expression::Sum(before, *factor) : Expression::Product(before, *factor);
  }

  Result MixedNumber(const Expression& before) {
    const Result over = Number();
    if (!over.has_value() || !Consume("/") || !DigitIsNext()) return std::nullopt;
    const Result under = Number();
    if (!under.has_value()) return std::nullopt;
    const Result fraction = Expression::Quotient(*over, *under);
    return fraction.has_value() ? Expression::Sum(before, *fraction) : std::nullopt;
  }

  Result Factor() {
    Result factor = Base();
    while (factor.has_value() && (NextIs('^') || NextIs('!'))) {
      whole_number_ended_ = false;
      const bool power = rest_[0] == '^';
      rest_.remove_prefix(1);
      if (power) {
        const Result exponent = Exponent();
        factor = exponent.has_value() ? Expression::Power(*factor, *exponent) : std::nullopt;
      } else {
        factor = Factorial(*factor);
      }
    }
    return factor;
  }

  // All digits count, though LaTeX would take the first alone: "2^10" is plain text.
  Result Exponent() {
    const bool below = Consume("-");
    Result exponent = DigitIsNext() ? Number() : Argument();
    whole_number_ended_ = false;
    return below && exponent.has_value() ? Expression::Product(Rational(-1), *exponent) : exponent;
  }

  static Result Factorial(const Expression& of) {
    const std::optional<Rational> number = of.AsRational();
    if (!number.has_value() || !number->is_whole() || number->over() < 0 || number->over() > kMostFactorial) return std::nullopt;
    int64_t product = 1;
    for (int64_t i = 2; i <= number->over(); ++i) product *= i;
    return Expression(product);
  }

  Result Base() {
    Skip();
    whole_number_ended_ = false;
    if (rest_.empty()) return std::nullopt;
    const char c = rest_[0];
    if (absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.') return Number();
    if (absl::ascii_isalpha(static_cast<unsigned char>(c))) return Letter();
    if (c == '(') return Enclosed('(', ')');
    if (c == '[') return Enclosed('[', ']');
    if (c == '{') return Enclosed('{', '}');
    return Command();
  }

  Result Enclosed(char open, char close) {
    if (!NextIs(open)) return std::nullopt;
    rest_.remove_prefix(1);
    const Result inner = Sum();
    whole_number_ended_ = false;
    if (!inner.has_value() || !NextIs(close)) return std::nullopt;
    rest_.remove_prefix(1);
    return inner;
  }

  // Digits, perhaps with a point; exact.
  Result Number() {
    int64_t digits = 0, under = 1;
    bool any = false, point = false;
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      const unsigned char c = static_cast<unsigned char>(rest_[0]);
      if (c == '.' && !point) {
        point = true;
      } else if (absl::ascii_isdigit(c)) {
        any = true;
        if (__builtin_mul_overflow(digits, 10, &digits) || __builtin_add_overflow(digits, c - '0', &digits)) return std::nullopt;
        if (point && __builtin_mul_overflow(under, 10, &under)) return std::nullopt;
      } else {
        break;
      }
    }
    const std::optional<Rational> number = any ? Rational::Of(digits, under) : std::nullopt;
    if (!number.has_value()) return std::nullopt;
    whole_number_ended_ = !point;
    return Expression(*number);
  }

  // An unknown, pi, or i. Three letters or more are a word, and no product.
  Result Letter() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), [](char c) { return !absl::ascii_isalpha(static_cast<unsigned char>(c)); });
    if (!in_word_ && end - rest_.begin() > 2) return std::nullopt;
    if (!in_word_ && end - rest_.begin() == 2 && absl::ConsumePrefix(&rest_, "pi")) return Expression::Unknown("\\pi");
    in_word_ = end - rest_.begin() > 1;   // The second of two.
    const std::string name(rest_.substr(0, 1));
    rest_.remove_prefix(1);
    return name == "i" ? Expression::SquareRoot(Rational(-1)) : Expression::Unknown(name);
  }

  Result Command() {
    if (ConsumeCommand("frac")) {
      const Result over = Argument();
      const Result under = over.has_value() ? Argument() : std::nullopt;
      return under.has_value() ? Expression::Quotient(*over, *under) : std::nullopt;
    }
    if (ConsumeCommand("sqrt")) {
      if (NextIs('[')) return std::nullopt;   // Another root.
      const Result inner = Argument();
      return inner.has_value() ? Expression::SquareRoot(*inner) : std::nullopt;
    }
    for (const absl::string_view name : kUnknowns) {
      if (ConsumeCommand(name)) return Expression::Unknown(absl::StrCat("\\", name));
    }
    return std::nullopt;
  }

  // That of \frac, \sqrt or ^: what stands in braces, or one digit, letter or command.
  Result Argument() {
    Skip();
    if (rest_.empty()) return std::nullopt;
    if (rest_[0] == '{') return Enclosed('{', '}');
    if (rest_[0] == '(') return Enclosed('(', ')');   // "\sqrt(2)", "2^(1/2)": plain text.
    if (rest_[0] == '\\') return ++depth_ > kMostDepth ? std::nullopt : Nested();
    if (!absl::ascii_isalnum(static_cast<unsigned char>(rest_[0]))) return std::nullopt;
    return Single();
  }

  Result Nested() {
    const Result command = Command();
    --depth_;
    return command;
  }

  Result Single() {
    Parser one(rest_.substr(0, 1));
    rest_.remove_prefix(1);
    return one.Base();
  }

  absl::string_view rest_;
  int depth_ = 0;
  bool whole_number_ended_ = false;   // The last factor was a whole number in digits.
  bool in_word_ = false;
};

}  // namespace

std::optional<Expression> Expression::Parse(absl::string_view text) {
  if (text.size() > kMostBytes) return std::nullopt;
  return Parser(text).Whole();
}

}  // namespace tessera
