// What a sample answers, by the rules of the field's harnesses.
#include "tessera/runtime/scale/value/extract_answer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ExtractAnswer, HeaderExample) {
  EXPECT_EQ(ExtractNumber("She makes 9 * 2 = $<<9*2=18>>18 a day.\n#### 18"), "18");
  EXPECT_EQ(ExtractFormula("Thus the value is $\\boxed{\\frac{14}{3}}$."), "\\frac{14}{3}");
  EXPECT_EQ(ExtractCode("Here it is:\n```python\nprint(1)\n```"), "print(1)\n");
}

TEST(ExtractAnswer, NumbersComeFromTheFirstPlaceThatHasOne) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"5 and 6\n#### 1,234.50 eggs\nmore 7", "1234.50"},
      {"#### none\nso \\boxed{12 \\text{ eggs}} and 3", "12"},
      {"first \\boxed{1} then \\boxed{2}", "2"},
      {"The answer is 42. I checked 17 numbers.", "42"},
      {"THE ANSWER IS: $3,000", "3000"},
      {"He has 16 - 3 = <<16-3=13>>13\nA: 90,000", "90000"},
      {"His loss was 975-130,000 = -129025\nA: -129025", "-129025"},
      {"no words, 16-3", "3"},
      {"it fell by -$5", "-5"},
      {"that is 40/2 = 20.", "20"},
      {"3/4 of it", "3/4"},
      {"costs $.50", ".50"},
      {"1, 2, and 1,2,3", "3"},
      {"The answer is unknown", ""},
      {"version 1.2.3", ".3"},
      {"", ""}};
  for (const auto& [text, number] : cases) EXPECT_EQ(ExtractNumber(text).value_or(""), number) << text;
}

TEST(ExtractAnswer, FormulasComeFromTheLastClosedBox) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\\boxed{\\left( 3, \\frac{\\pi}{2} \\right)} or \\boxed{never closed", "\\left( 3, \\frac{\\pi}{2} \\right)"},
      {"$\\boxed 5$ is it", "5"},
      {"\\fbox{7}", "7"},
      {"\\boxed {x}", "x"},
      {"Final Answer: The final answer is $\\frac{1}{2}$. I hope it is correct.", "$\\frac{1}{2}$"},
      {"The answer is: (1, 2).\nMore.", "(1, 2)"},
      {"The answer is 3.5.", "3.5"},
      {"we get 12 and then 15", "15"},
      {"no idea", ""}};
  for (const auto& [text, formula] : cases) EXPECT_EQ(ExtractFormula(text).value_or(""), formula) << text;
}

TEST(ExtractAnswer, CodeIsTheFirstBlockThatDefinesSomething) {
  EXPECT_EQ(ExtractCode("```\nx\n```\nthen\n```py\ndef f():\n  pass\n```\n```\ndef g(): pass\n```"), "def f():\n  pass\n");
  EXPECT_EQ(ExtractCode("```\nfirst\n```\n```\nsecond\n```"), "first\n");
  EXPECT_EQ(ExtractCode("text\n```python\ndef f():\n  return 1"), "def f():\n  return 1");
  EXPECT_EQ(ExtractCode("    return 1\n"), "    return 1\n");
  EXPECT_EQ(ExtractCode("```"), "```");
  EXPECT_EQ(ExtractCode(""), "");
}

TEST(ExtractAnswer, TextIsCutAtTheFirstStop) {
  EXPECT_EQ(CutAt("  return 1\n\ndef g():\nclass", {"\nclass", "\ndef"}), "  return 1\n");
  EXPECT_EQ(CutAt("all", {"x"}), "all");
  EXPECT_EQ(CutAt("all", {}), "all");
}

}  // namespace
}  // namespace tessera
