// A draft as it was recorded: answers on the path and off it, the rows that passes have, and texts that are others.
#include "tessera/apps/lab/papers/lever/recorded_expander.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/policies/tree_policy.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// Each token but the third was the draft's likeliest.
DraftedText Text() {
  return {.set = "mbpp",
          .id = "7",
          .prompt_tokens = 9,
          .tokens = {1, 2, 3, 4, 5},
          .said = {{{2, 0.8f}, {9, 0.1f}}, {{8, 0.6f}, {3, 0.3f}}, {{4, 0.9f}}, {{5, 0.7f}, {6, 0.2f}}}};
}

RecordedExpander::Times FreeTimes() { return {.seconds = [](int, int) { return 0.0; }}; }

TEST(RecordedExpander, HeaderExample) {
  const DraftedText text = Text();
  const auto seconds_of_pass = [](int nodes, int text_rows) { return 1.0 + 0.25 * (nodes + text_rows); };
  auto draft = std::make_unique<RecordedExpander>(RecordedExpander::Times{.seconds = seconds_of_pass});
  RecordedExpander& recorded = *draft;
  ExpandingDrafter drafter(std::move(draft), Must(MakeTreePolicy("chain:tokens=2", {})), {});
  recorded.Use(text);
  drafter.Begin(absl::MakeConstSpan(text.tokens).first(1));
  TokenTree tree(1);
  Must(drafter.Propose({.max_nodes = 8}, tree));
  EXPECT_EQ(tree.PathTo(2), (std::vector<TokenId>{2, 8}));
  EXPECT_EQ(recorded.passes().at({1, 0}), 2);
  EXPECT_DOUBLE_EQ(recorded.seconds(), 2.5);
  drafter.Commit(tree, {.path = {0, 1}, .emitted = {2, 3}});
  TokenTree next(3);
  Must(drafter.Propose({.max_nodes = 8}, next));
  EXPECT_EQ(next.PathTo(2), (std::vector<TokenId>{4, 5}));
}

TEST(RecordedExpander, NodesOffThePathUseTheRecordedTokensOfTheSameDepth) {
  const DraftedText text = Text();
  RecordedExpander expander(FreeTimes());
  expander.Use(text);
  Must(expander.Begin({1}));
  TokenTree tree(1);
  const int right = tree.Add(TokenTree::kRoot, 2, 0.8f), wrong = tree.Add(TokenTree::kRoot, 9, 0.1f);
  Must(expander.Expand(tree, {TokenTree::kRoot}, 8));
  const std::vector<TopTokens> said = Must(expander.Expand(tree, {right, wrong}, 1));
  ASSERT_EQ(said.size(), 2u);
  for (const TopTokens& each : said) {
    ASSERT_EQ(each.size(), 1u) << "as many as are asked for";
    EXPECT_EQ(each[0].token, 8);
  }
}

TEST(RecordedExpander, AtTheTextsEndNothingIsSaid) {
  const DraftedText text = Text();
  RecordedExpander expander(FreeTimes());
  expander.Use(text);
  Must(expander.Begin({1, 2, 3, 4}));
  TokenTree tree(4);
  EXPECT_EQ(Must(expander.Expand(tree, {TokenTree::kRoot}, 8))[0].size(), 2u);
  const int last = tree.Add(TokenTree::kRoot, 5, 0.7f);
  EXPECT_TRUE(Must(expander.Expand(tree, {last}, 8))[0].empty());
}

// What became text without having been expanded is read with the next root; a head reads all of it again.
TEST(RecordedExpander, TheNextPassHasRowsForTextThatNoPassHad) {
  for (const bool is_head : {false, true}) {
    const DraftedText text = Text();
    RecordedExpander::Times times = FreeTimes();
    times.is_head = is_head;
    RecordedExpander expander(times);
    expander.Use(text);
    Must(expander.Begin({1}));
    TokenTree tree(1);
    Must(expander.Expand(tree, {TokenTree::kRoot}, 8));
    const int second = tree.Add(TokenTree::kRoot, 2, 0.8f);
    tree.Add(second, 3, 0.3f);
    Must(expander.Expand(tree, {second}, 8));
    Must(expander.Commit(tree, {2, 3, 4}));   // 1 and 2 were expanded; 3 was a node alone.
    Must(expander.Expand(TokenTree(4), {TokenTree::kRoot}, 8));
    EXPECT_EQ(expander.passes().at({1, is_head ? 2 : 1}), 1) << is_head;
  }
}

TEST(RecordedExpander, TextsThatAreOthersAreRefused) {
  const DraftedText text = Text();
  RecordedExpander expander(FreeTimes());
  EXPECT_TRUE(absl::IsFailedPrecondition(expander.Begin({1})));
  expander.Use(text);
  const absl::Status begun = expander.Begin({1, 3});
  EXPECT_TRUE(absl::IsInvalidArgument(begun));
  EXPECT_EQ(begun.message(), "recorded draft: text mbpp 7: found token 3 at 1, expected 2");
  Must(expander.Begin({1, 2, 3, 4}));
  const absl::Status committed = expander.Commit(TokenTree(4), {5, 6});
  EXPECT_TRUE(absl::IsInvalidArgument(committed));
  EXPECT_EQ(committed.message(), "recorded draft: text mbpp 7: found token 6 at 5, expected its end");
}

}  // namespace
}  // namespace tessera
