#include "tessera/apps/bench/spec/published_baselines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/spec/speculation/replay.h"
#include "tessera/tests/fakes/golden.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

Tokens DraftOf(Drafter& drafter, const Tokens& text, const DraftBudget& budget = {.max_nodes = 100}) {
  drafter.Begin(text);
  TokenTree tree(text.back());
  EXPECT_TRUE(drafter.Propose(budget, tree).ok());
  return tree.PathTo(tree.size() - 1);
}

TEST(PublishedBaselines, HeaderExample) {
  const std::vector<Tokens> corpus = {{1, 2, 3}};
  PublishedPromptLookup lookup({});
  PublishedSuffixAutomaton sam({.threshold = 0}, corpus);
  EXPECT_TRUE(DraftOf(lookup, {1, 2}).empty());
  EXPECT_TRUE(DraftOf(sam, {1, 2}).empty());   // A corpus must match by five more than the text.
}

TEST(PublishedBaselines, PromptLookupTakesTheOldestPlaceAndAllTokensOrNone) {
  PublishedPromptLookup lookup({.longest_key = 3, .length = 2});
  EXPECT_EQ(DraftOf(lookup, {1, 2, 8, 8, 1, 2, 9, 9, 1, 2}), (Tokens{8, 8}));
  EXPECT_EQ(DraftOf(lookup, {5, 1, 2, 7, 7, 1, 2, 6, 5, 1, 2}), (Tokens{7, 7}));
  EXPECT_EQ(DraftOf(lookup, {4, 4, 1, 2, 1, 2}), (Tokens{1, 2}));
  EXPECT_TRUE(DraftOf(lookup, {3, 1, 2, 1}, {.max_nodes = 0}).empty());
  PublishedPromptLookup longer({.longest_key = 3, .length = 4});
  EXPECT_TRUE(DraftOf(longer, {3, 1, 2, 3}).empty());   // Three tokens to copy: too few.
}

// The drafts have four tokens, the root included.
TEST(PublishedBaselines, SuffixAutomatonTakesTheEarliestPlaceThatLeavesRoom) {
  PublishedSuffixAutomaton sam({.length = 4, .threshold = 0});
  EXPECT_EQ(DraftOf(sam, {1, 2, 3, 1, 2, 4, 1, 2, 3, 1}), (Tokens{2, 4, 1}));
  EXPECT_EQ(DraftOf(sam, {1, 2, 3, 1, 2, 4, 1, 2, 3, 4}), (Tokens{1, 2, 3}));
  EXPECT_TRUE(DraftOf(sam, {1, 2, 3, 1, 2, 4, 1, 2, 3, 5}).empty());
  // 6 7 ended too near to copy three tokens; 7 alone ended before.
  EXPECT_EQ(DraftOf(sam, {7, 1, 2, 3, 6, 7, 6, 7}), (Tokens{1, 2, 3}));
}

TEST(PublishedBaselines, SuffixAutomatonNeedsALongMatchAndALongerOneInItsCorpus) {
  const std::vector<Tokens> corpus = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 21}};
  PublishedSuffixAutomaton sam({}, corpus);
  EXPECT_TRUE(DraftOf(sam, {2, 3, 4, 5, 6, 7, 8, 9, 10}).empty());
  EXPECT_EQ(DraftOf(sam, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), (Tokens{20, 21}));
  EXPECT_TRUE(DraftOf(sam, {31, 32, 33, 34, 40, 31, 32, 33, 34}).empty());
  EXPECT_EQ(DraftOf(sam, {31, 32, 33, 34, 35, 40, 31, 32, 33, 34, 35}, {.max_nodes = 2}), (Tokens{40, 31}));
}

TEST(PublishedBaselines, LengthByMatchIsOneAndFourForEachTokenThatMatched) {
  PublishedSuffixAutomaton sam({.threshold = 0, .length_by_match = true});
  Tokens text;
  for (int i = 0; i < 90; ++i) text.push_back(i);
  text.push_back(10);
  EXPECT_EQ(DraftOf(sam, text).size(), 5u);
  text.push_back(11);
  EXPECT_EQ(DraftOf(sam, text).size(), 9u);
}

// Another engine's answers of two models, and both budgets: rows enough for us, and for the longest draft of theirs.
TEST(PublishedBaselines, OurDrafterSavesMorePassesOnTheSameTexts) {
  for (const std::string model : {"smollm2", "gemma3"}) {
    for (const int nodes : {15, 39}) {
      const auto tau = [&](Drafter& drafter) {
        Replayed sum;
        for (const JsonValue& line : GoldenLines(model + "/generate_f32.jsonl")) {
          sum += Must(Replay(drafter, GoldenTokens(line, "prompt_tokens"), GoldenTokens(line, "output_tokens"), {.max_nodes = nodes}));
        }
        return sum.tau();
      };
      SuffixDrafter ours({});
      PublishedPromptLookup lookup({});
      PublishedSuffixAutomaton sam({.threshold = 0}), with_threshold({}), by_match({.threshold = 0, .length_by_match = true});
      for (Drafter* const theirs : std::vector<Drafter*>{&lookup, &sam, &with_threshold, &by_match})
        EXPECT_GT(tau(ours), tau(*theirs)) << model << nodes;
    }
  }
}

}  // namespace
}  // namespace tessera
