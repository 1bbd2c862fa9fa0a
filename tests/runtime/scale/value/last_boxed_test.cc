// The last box of a text, and what it takes to find it.
#include "tessera/runtime/scale/value/last_boxed.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(LastBoxed, HeaderExample) {
  EXPECT_EQ(LastBoxed("Thus \\boxed{1}, no, \\boxed{\\frac{14}{3}}."), "\\frac{14}{3}");
  EXPECT_EQ(LastBoxed("It is \\boxed 7$."), "7");
}

TEST(LastBoxed, OfNestedOpenAndOtherBoxesTheLastThatEndsCounts) {
  const std::vector<std::pair<std::string, std::optional<std::string>>> cases = {
      {"none", std::nullopt},
      {"\\boxed{a \\boxed{b} c}", "b"},
      {"\\boxed{a \\boxed{b c}", "b c"},
      {"\\boxed{a} \\boxed{b {c}", "a"},
      {"} \\boxed{a}", "a"},
      {"{ \\boxed{a}", "a"},
      {"\\boxed{a \\boxed 5$ b}", "5"},
      {"\\boxed 5$ \\boxed{a}", "a"},
      {"\\boxed{}", ""},
      {"\\fbox{f} and \\boxed{open", "f"},
      {"\\fbox{f} and \\boxed{b}", "b"},
      {"\\boxed", ""},
  };
  for (const auto& [text, found] : cases) EXPECT_EQ(LastBoxed(text), found) << text;
}

// Each box was read to the text's end before: 100,000 of them are 100,000 times as much.
TEST(LastBoxed, TwiceAsManyOpenBoxesTakeTwiceTheSteps) {
  for (const std::string box : {"\\boxed{", "\\boxed ", "\\boxed   {x{", "\\fbox{}}"}) {
    int64_t once = 0, twice = 0;
    const std::string text = Times(50'000, box);
    LastBoxed(text, &once);
    LastBoxed(text + text, &twice);
    EXPECT_LE(twice, 2 * once + 16) << box;
    EXPECT_LE(once, 4 * static_cast<int64_t>(text.size())) << box;
    EXPECT_GE(once, static_cast<int64_t>(text.size())) << box << ": all of it was looked at";
  }
}

}  // namespace
}  // namespace tessera
