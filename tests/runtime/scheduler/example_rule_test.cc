// The rule that docs/adding_a_scheduler_rule.md links to: the document has the link, and it shares rows as it promises.
#include "tessera/tests/runtime/scheduler/example_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/tests/fakes/linked_example.h"
#include "tessera/tests/fakes/stepper_texts.h"

namespace tessera {
namespace {

// Rows of each of these texts; 0 where a text has no part.
std::vector<int> RowsOf(const std::vector<int>& pending, int most) {
  std::vector<int> rows(pending.size(), 0);
  for (const StepPart& part : ShortestPromptsFirst(/*rows_of_oldest=*/4).Pieces(pending, most)) {
    EXPECT_GT(part.chunk, 0);
    EXPECT_EQ(rows[part.stream], 0) << "two parts of one text";
    rows[part.stream] = part.chunk;
  }
  return rows;
}

TEST(ExampleRule, IsLinkedFromTheGuide) {
  EXPECT_TRUE(LinksToExample("docs/adding_a_scheduler_rule.md", "tests/runtime/scheduler/example_rule.h"));
}

TEST(ExampleRule, ShortPromptsAreReadFirstAndTheOldestGoesOn) {
  EXPECT_EQ(RowsOf({100, 8, 0, 30}, 40), (std::vector<int>{4, 8, 0, 28}));
  EXPECT_EQ(RowsOf({100, 8, 0, 30}, 3), (std::vector<int>{3, 0, 0, 0}));
  EXPECT_EQ(RowsOf({0, 0}, 40), (std::vector<int>{0, 0}));
  EXPECT_TRUE(ShortestPromptsFirst(4).Pieces({}, 40).empty());
}

TEST(ExampleRule, APassIsFullAndNoTextGetsMoreThanItHas) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> pending(1 + random.Below(6));
    int all = 0;
    for (int& tokens : pending) {
      tokens = static_cast<int>(random.Below(50));
      all += tokens;
    }
    const int most = static_cast<int>(random.Below(80));
    const std::vector<int> rows = RowsOf(pending, most);
    int given = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(rows[i], pending[i]);
      given += rows[i];
    }
    EXPECT_EQ(given, std::min(all, most));
  }
}

// A long prompt among short ones that fill each pass: four tokens of the long prompt are read in each.
TEST(ExampleRule, NoPromptWaitsForEver) {
  std::vector<int> pending(13, 3);
  pending[0] = 100;
  int passes = 0;
  for (; pending[0] > 0 && passes < 100; ++passes) pending[0] -= RowsOf(pending, 40)[0];
  EXPECT_EQ(passes, 25);
}

// A rule decides when a text is computed, never its tokens.
TEST(ExampleRule, TextsAreTheSameInAnyCompany) {
  const std::vector<int> prompts = {40, 3, 20};
  const auto engine = TinyEngine({.writes_letters = true}, {.compute = {.threads = 1, .row_capacity = 16}, .cache = {.context = 256}});
  EXPECT_EQ(WriteTexts(*engine, prompts, /*at_once=*/true), WriteTexts(*engine, prompts, /*at_once=*/false));
}

}  // namespace
}  // namespace tessera
