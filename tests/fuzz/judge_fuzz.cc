// What judges an answer: a text that a model wrote, from which a number, a formula or code is taken, and two formulas that are compared.
// What is found stands in the text, an answer is the same as itself however it is cleaned, sameness has no direction, expressions obey the
// laws of arithmetic, and the same text gives the same finding.
//
// An input is two texts with a zero byte between them, and none of it is refused: the target says so for texts without a number.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "tessera/runtime/chat/message_lines.h"
#include "tessera/runtime/scale/value/expression.h"
#include "tessera/runtime/scale/value/extract_answer.h"
#include "tessera/runtime/scale/value/same_answer.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

// A number, as NumbersIn gives it: digits, and at most one sign, point and fraction.
void CheckNumber(const std::string& number) {
  CHECK(!number.empty() && number.find_first_not_of("-0123456789./") == std::string::npos) << number;
  CHECK(number.find_first_of("0123456789") != std::string::npos && number.rfind('-') + 1 <= 1) << number;
}

void CheckFound(const std::string& text) {
  for (const std::string& number : NumbersIn(text)) CheckNumber(number);
  const std::optional<std::string> number = ExtractNumber(text), formula = ExtractFormula(text);
  CHECK(number == ExtractNumber(text) && formula == ExtractFormula(text));
  if (number.has_value()) CheckNumber(*number);
  if (formula.has_value() && !absl::StrContains(text, ",")) {   // Commas of a number go.
    CHECK(absl::StrContains(text, *formula) || NumbersIn(*formula) == std::vector<std::string>{*formula}) << *formula;
  }
  const std::string code = ExtractCode(text);
  CHECK_LE(code.size(), text.size() + 1);
  CHECK(absl::StartsWith(text, CutAt(text, {"\n\n", "Question:"})));
}

void CheckSame(const std::string& a, const std::string& b) {
  CHECK(SameAnswer(a, a)) << a;
  CHECK_EQ(SameAnswer(a, b), SameAnswer(b, a)) << a << " and " << b;
  const std::string cleaned = CleanAnswer(a);
  CHECK_LE(cleaned.size(), 4 * a.size() + 16) << cleaned;
}

// a + b = b + a, a b = b a, (a / b) b = a, a - a = 0: where the numbers are small enough to say so.
void CheckArithmetic(const Expression& a, const Expression& b) {
  CHECK(a.Equals(a) && b.Equals(b));
  CHECK_EQ(a.Equals(b), b.Equals(a));
  const std::optional<Expression> sum = Expression::Sum(a, b), reverse = Expression::Sum(b, a);
  CHECK_EQ(sum.has_value(), reverse.has_value());
  if (sum.has_value()) CHECK(sum->Equals(*reverse) || !sum->Equals(*sum));
  const std::optional<Expression> product = Expression::Product(a, b), turned = Expression::Product(b, a);
  CHECK_EQ(product.has_value(), turned.has_value());
  if (product.has_value()) CHECK(product->Equals(*turned) || !product->Equals(*product));
  const std::optional<Expression> minus = Expression::Product(a, Expression(Rational(-1)));
  const std::optional<Expression> nothing = minus.has_value() ? Expression::Sum(a, *minus) : std::nullopt;
  if (nothing.has_value()) CHECK(nothing->Equals(Expression(0)) || !nothing->Equals(*nothing));
  if (a.AsRational().has_value() && b.AsRational().has_value()) CHECK_EQ(a.Equals(b), *a.AsRational() == *b.AsRational());
}

// Lines that are put together hold what was typed.
void CheckLines(const std::string& text) {
  MessageLines lines;
  std::string message;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (lines.Add(text.substr(begin, end - begin), &message)) {
      CHECK(!lines.open() && (absl::StrContains(text, message) || absl::StrContains(message, "\n"))) << message;
    }
    begin = end + 1;
  }
  lines.Drop();
  CHECK(!lines.open());
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const std::string all(reinterpret_cast<const char*>(input.data()), input.size());
  const size_t end = std::min(all.find('\0'), all.size());
  const std::string a = all.substr(0, end), b = all.substr(std::min(end + 1, all.size()));
  CheckFound(a);
  CheckLines(a);
  CheckSame(a, b);
  const std::optional<Expression> left = Expression::Parse(a), right = Expression::Parse(b);
  CHECK_EQ(left.has_value(), Expression::Parse(a).has_value());
  if (left.has_value() && right.has_value()) CheckArithmetic(*left, *right);
  return ExtractNumber(a).has_value() ? absl::OkStatus() : absl::InvalidArgumentError("a text without a number");
}

std::vector<FuzzSeed> Seeds() {
  const std::string texts[] = {
      "She makes 9 * 2 = $<<9*2=18>>18 a day.\n#### 18", "Thus the value is $\\boxed{\\frac{14}{3}}$.", "The answer is 1,234.50.",
      "The final answer is $x^2 + 3$. I hope it is correct.", "A: -42", "\\fbox{\\boxed{a}{b}}", "\\boxed{", "16-3 apples, 3/4, -.5, 1.2.3",
      "Here it is:\n```python\ndef f(x):\n  return 1\n```\n```\nprint(2)\n```", "```\nopen", "\"\"\"a\n/b\n\"\"\"", "1\\frac{4}{5}",
      "\\frac{2}{\\sqrt{2}} + x(x + 1)", "x^2 + x + \\sqrt 2", "(1, 2]", "\\{1, 2, 3\\}", "3 \\pm 2\\sqrt{2}", "3-2\\sqrt2, 3+2\\sqrt2",
      "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}", "$\\$32,\\!348$", "32348 dollars", "50\\%", "20!", "21!", "i^2", "2^{64}",
      "2^{-64}",
      "9223372036854775807", "-9223372036854775808", "1/0", "\\sqrt{-4}", "\\sqrt[3]{8}", "x = 5", "(-\\infty, 3) \\cup [4, 5)", "52_8",
      "((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))", "\\text{east}", "90^\\circ", "0.(3)", "\\dfrac12", "1e5",
      "\xff\xfe", "\\left( \\frac{1}{2}, -\\pi \\right)", "a_1 + a_2", "2\\cdot 3 \\times 4 \\div 5", "\\log 2", "||",
      "1.000000000000000001"};
  std::vector<FuzzSeed> seeds = {{"nothing", ""}};
  for (const std::string& text : texts) {
    seeds.push_back({absl::StrCat("alone_", seeds.size()), text});
    seeds.push_back({absl::StrCat("pair_", seeds.size()), text + '\0' + texts[seeds.size() % std::size(texts)]});
    seeds.push_back({absl::StrCat("same_", seeds.size()), text + '\0' + absl::StrReplaceAll(text, {{" ", ""}})});
  }
  return seeds;
}

}  // namespace tessera
