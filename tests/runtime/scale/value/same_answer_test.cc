// Answers compared as numbers and formulas.
#include "tessera/runtime/scale/value/same_answer.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/runtime/scale/value/expression.h"
#include "tessera/runtime/scale/value/rational.h"

namespace tessera {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void ExpectSame(const Pairs& pairs) {
  for (const auto& [a, b] : pairs) {
    EXPECT_TRUE(SameAnswer(a, b)) << a << " and " << b << " (" << CleanAnswer(a) << " and " << CleanAnswer(b) << ")";
    EXPECT_TRUE(SameAnswer(b, a)) << b << " and " << a;
  }
}

void ExpectDifferent(const Pairs& pairs) {
  for (const auto& [a, b] : pairs) {
    EXPECT_FALSE(SameAnswer(a, b)) << a << " and " << b;
    EXPECT_FALSE(SameAnswer(b, a)) << b << " and " << a;
  }
}

TEST(SameAnswer, HeaderExample) {
  EXPECT_TRUE(SameAnswer("\\frac{1}{2}", "0.5"));
  EXPECT_TRUE(SameAnswer("$\\$32,\\!348$", "32348 dollars"));
  EXPECT_FALSE(SameAnswer("(1, 2)", "(2, 1)"));
  EXPECT_TRUE(SameAnswer("3 \\pm 2\\sqrt{2}", "3-2\\sqrt2, 3+2\\sqrt2"));
}

TEST(SameAnswer, NumbersAreExact) {
  ExpectSame({{"18", "18.00"}, {"18", "18."}, {".5", "0.5"}, {"1/3", "\\frac{2}{6}"}, {"-3/6", "-0.5"}, {"90,000", "90000"},
              {"1,234,567.5", "1234567.5"}, {"10{,}080", "10080"}, {"10,\\!080", "10080"}, {"3!", "6"}, {"2^{10}", "1024"},
              {"2^10", "1024"}, {"2^{-2}", "0.25"}, {"1\\frac{4}{5}", "9/5"}, {"137 \\frac{1}{2}", "137.5"}, {"137 1/2", "275/2"},
              {"-1\\frac{1}{2}", "-1.5"}, {"\\frac43", "4/3"}, {"\\frac1{72}", "1/72"}, {"\\dfrac{17}{50}", "0.34"},
              {"2\\frac{5}{3}", "10/3"}, {"6 \\cdot 7", "42"}, {"6 \\times 7", "6*7"}, {"8 / -2", "-4"}, {"\xE2\x88\x92" "5", "-5"}});
  ExpectDifferent({{"0.33", "1/3"}, {"18", "81"}, {"5", "-5"}, {"0.1", "0.10001"}, {"2^10", "20"}, {"1/0", "0/0"}, {"12", "1,2"},
                   {"", "0"}});
}

TEST(SameAnswer, RootsArePutInOneForm) {
  ExpectSame({{"\\frac{\\sqrt{3}}{3}", "1/\\sqrt{3}"}, {"\\sqrt{12}", "2\\sqrt3"}, {"2\\sqrt{113}", "\\sqrt{452}"},
              {"\\sqrt{\\frac{1}{2}}", "\\frac{\\sqrt{2}}{2}"}, {"\\sqrt{2}\\sqrt{8}", "4"}, {"11\\sqrt{5}+11", "11(1+\\sqrt{5})"},
              {"\\frac{1}{1+\\sqrt{2}}", "\\sqrt{2}-1"}, {"2^{1/2}", "\\sqrt{2}"}, {"\\sqrt{49}", "7"}, {"sqrt(2)", "sqrt(2)"},
              {"\xE2\x88\x9A" "2", "\\sqrt{2}"}, {"\\sqrt{6}\\sqrt{10}", "2\\sqrt{15}"}, {"\\sqrt{-4}", "2i"}});
  ExpectDifferent({{"\\sqrt{2}", "1.41421356"}, {"\\sqrt{2}+\\sqrt{3}", "\\sqrt{5}"}, {"\\sqrt[3]{8}", "\\sqrt{8}"}});
}

TEST(SameAnswer, FormulasAreComparedAsPolynomials) {
  ExpectSame({{"(a+5)(b+2)", "ab + 2a + 5b + 10"}, {"x^3+3x-6", "3x - 6 + x^3"}, {"\\frac{11+9a}{20}", "0.45a + 0.55"},
              {"\\frac{x^2-1}{x-1}", "x+1"}, {"288 \\pi", "\\pi \\cdot 288"}, {"8\xCF\x80", "8\\pi"}, {"8 pi", "8\\pi"},
              {"\\frac{20000}{\\pi}", "20000/\\pi"}, {"6+9i", "9i + 6"}, {"(1+i)^2", "2i"}, {"x^{-1}", "1/x"}, {"-(x-1)", "1-x"},
              {"y = 2x + 3", "3 + 2x"}, {"2k+2", "2(k+1)"}});
  ExpectDifferent({{"x+1", "x-1"}, {"xy", "x+y"}, {"(x+1)^2", "x^2+1"}, {"x", "y"}, {"\\pi", "3.14159"}, {"2i", "2j"}});
}

TEST(SameAnswer, ListsKeepTheOrderThatTheirBracketsGive) {
  ExpectSame({{"(3, \\frac{\\pi}{2})", "\\left( 3, \\frac{\\pi}{2} \\right)"}, {"(6,31,-1)", "( 6, 31, -1 )"}, {"3, 5, 7", "7,5,3"},
              {"-2,1", "\\{1,-2\\}"}, {"\\{1\\pm\\sqrt{5},-2\\}", "-2, 1+\\sqrt5, 1-\\sqrt5"}, {"2 and 3", "3, 2"},
              {"2 \\text{ or } 3", "2, 3"}, {"(2,\\infty)", "(2, \\infty)"}, {"(0,9) \\cup (9,36)", "(9,36)\\cup(0,9)"},
              {"x \\in [0, 0.5]", "[0,1/2]"},
              {"\\begin{pmatrix} 1/5 \\\\ -18/5 \\end{pmatrix}", "\\begin{pmatrix} 0.2 \\\\ -3.6 \\\\ \\end{pmatrix}"},
              {"\\begin{pmatrix} -1 & 0 \\\\ 0 & -1 \\end{pmatrix}", "\\begin{pmatrix}-1&0\\\\0&-1\\end{pmatrix}"}});
  ExpectDifferent({{"(1,2)", "[1,2]"}, {"(1,2)", "1,2"}, {"1,2", "1,2,2"}, {"1,1,2", "1,2,2"}, {"(1,200)", "1200"},
                   {"\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"},
                   {"(0,9) \\cup (9,36)", "(0,36)"}});
}

TEST(SameAnswer, SignsUnitsAndNamesGo) {
  ExpectSame({{"50\\%", "50"}, {"$18", "18"}, {"\\$36", "36 dollars"}, {"145^\\circ", "145"}, {"30^{\\circ}", "30 degrees"},
              {"\\frac{270}7\\text{ degrees}", "270/7"}, {"5\\text{ cm}^2", "5"}, {"5 cm^2", "5"}, {"18 eggs per day", "18"},
              {"x = 5", "5"}, {"$5$.", "5"}, {"\\(5\\)", "5"}, {"\\text{Evelyn}", "Evelyn"}, {"\\text{(B)}", "B"}, {"\\mbox{even}", "even"},
              {"\\mathrm{even}", "\\text{even}"}, {"52_8", "52_8"}});
  ExpectDifferent({{"50\\%", "0.5"}, {"3 hours 20 minutes", "3 hours"}, {"Evelyn", "Navin"}, {"even", "neve"}, {"52_8", "42"},
                   {"\\cot x", "\\tan x"}, {"x = 5", "y = 6"}});
}

TEST(SameAnswer, AnAnswerTooLargeIsComparedAsText) {
  const std::string huge = "123456789012345678901234567890";
  EXPECT_TRUE(SameAnswer(huge, huge));
  EXPECT_FALSE(SameAnswer(huge, huge + ".0"));
  std::string deep(5000, '('), wide = "1";
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&wide, ",", i);
  for (const std::string& odd : {deep, wide, std::string("\\frac{"), std::string("}{"), std::string("\\begin{pmatrix}"), std::string("^"),
                                 std::string("((a+b)^64)^64"), std::string("1/((1+x)(1-x)-(1-x^2))"), std::string("\\text{"),
                                 std::string("\\frac\\frac\\frac"), std::string("(a+b+c+d+e+f)^{64}")}) {
    EXPECT_TRUE(SameAnswer(odd, odd));
    EXPECT_FALSE(SameAnswer(odd, "0"));
  }
}

// Sums of fractions with roots and unknowns, in any order and with any common factor.
TEST(Expression, EqualsItsAlgebraicTransformations) {
  SeededRandom random(3);
  const auto number = [&] { return absl::StrCat(random.Below(19) - 9, "/", random.Below(7) + 1); };
  for (int trial = 0; trial < 200; ++trial) {
    const std::string a = absl::StrCat("(", number(), ")"), b = absl::StrCat("(", number(), ")\\sqrt{", random.Below(30) + 1, "}");
    const std::string c = absl::StrCat("(", number(), ")x^{", random.Below(4), "}"), d = absl::StrCat("(", random.Below(5) + 1, "+y)");
    const std::optional<Expression> left = Expression::Parse(absl::StrCat("(", a, "+", b, "+", c, ")", d, d));
    const std::optional<Expression> right = Expression::Parse(absl::StrCat(d, "*(", c, "*", d, "+", d, "*", a, ")+", b, d, "^2"));
    ASSERT_TRUE(left.has_value() && right.has_value());
    EXPECT_TRUE(left->Equals(*right)) << trial;
    const std::optional<Expression> more = Expression::Sum(*right, Rational(1));
    EXPECT_FALSE(left->Equals(*more)) << trial;
    const std::optional<Expression> whole = Expression::Quotient(*left, *more), scaled = Expression::Quotient(*right, *more);
    ASSERT_TRUE(whole.has_value() && scaled.has_value());
    EXPECT_TRUE(whole->Equals(*scaled)) << trial;
  }
}

TEST(Expression, UndecidableTextsAreNotParsed) {
  for (const std::string text : {"", "x2", "abc", "2x3", "\\sin x", "x_1", "a < b", "1..2", "3.4.5", "2 * 1\\frac{1}{2}", "x!", "21!",
                                 "\\sqrt{x}", "\\sqrt[3]{2}", "2^{1/3}", "2^x", "1/0", "(1", "1)", "99999999999999999999", "x^{65}"}) {
    EXPECT_FALSE(Expression::Parse(text).has_value()) << text;
  }
}

TEST(Rational, FitsOrIsNone) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(*Rational::Of(2, 4), *Rational::Of(-1, -2));
  EXPECT_EQ(*Rational::Sum(*Rational::Of(1, 2), *Rational::Of(1, 3)), *Rational::Of(5, 6));
  EXPECT_FALSE(Rational::Of(1, 0).has_value());
  EXPECT_FALSE(Rational::Of(kLeast, 1).has_value());
  EXPECT_FALSE(Rational::Of(1, kLeast).has_value());
  EXPECT_FALSE(Rational::Sum(Rational(kMost), Rational(1)).has_value());
  EXPECT_FALSE(Rational::Product(Rational(kMost), Rational(2)).has_value());
  EXPECT_EQ(*Rational::Product(Rational(kMost), *Rational::Of(1, kMost)), Rational(1));
  EXPECT_EQ(*Rational::Product(*Rational::Of(kMost, 3), *Rational::Of(3, kMost)), Rational(1));
  EXPECT_FALSE(Rational::Inverse(Rational(0)).has_value());
}

}  // namespace
}  // namespace tessera
