#include "tessera/spec/drafters/calibrated_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "tessera/tests/fakes/random_steps.h"

namespace tessera {
namespace {

// Words as tokens.
class Words {
 public:
  TokenId operator[](absl::string_view word) {
    return tokens_.try_emplace(std::string(word), static_cast<TokenId>(tokens_.size())).first->second;
  }
  std::vector<TokenId> Text(absl::string_view text) {
    std::vector<TokenId> tokens;
    for (const absl::string_view word : absl::StrSplit(text, ' ')) tokens.push_back((*this)[word]);
    return tokens;
  }

 private:
  absl::flat_hash_map<std::string, TokenId> tokens_;
};

TokenTree DraftOf(CalibratedTree& calibrated, TokenId root, DraftBudget budget = {.max_nodes = 20}) {
  TokenTree tree(root);
  EXPECT_TRUE(calibrated.Propose(budget, tree).ok());
  return tree;
}

// The example of the paper's figure 9.
TEST(CalibratedTree, HeaderExample) {
  Words words;
  const std::vector<TokenId> text = words.Text("Clinton 's security detail has arrived at Des Moines . Clinton");
  std::vector<TopTokens> top(10);
  top[0] = {{words["has"], 0.4f}, {words["arrived"], 0.3f}, {words["'s"], 0.2f}};
  top[5] = {{words["at"], 0.5f}, {words["in"], 0.3f}, {words["."], 0.1f}};
  CalibratedTree calibrated;
  calibrated.Begin(text);
  calibrated.LearnPrompt(/*first=*/0, top);
  TokenTree tree(words["Clinton"]);
  ASSERT_TRUE(calibrated.Propose({.max_nodes = 15}, tree).ok());
  EXPECT_EQ(tree.size(), 7);
  EXPECT_NE(tree.Child(TokenTree::kRoot, words["has"]), TokenTree::kNone);
  EXPECT_NE(tree.Child(TokenTree::kRoot, words["'s"]), TokenTree::kNone);
  const int arrived = tree.Child(TokenTree::kRoot, words["arrived"]);
  ASSERT_NE(arrived, TokenTree::kNone);
  EXPECT_NEAR(tree[arrived].probability, 0.3f, 1e-3);
  for (const absl::string_view word : {"at", "in", "."}) EXPECT_NE(tree.Child(arrived, words[word]), TokenTree::kNone) << word;
  EXPECT_NEAR(tree[tree.Child(arrived, words["at"])].probability, 0.5f, 1e-3);  // "Clinton arrived at": what the model writes.
}

TEST(CalibratedTree, TheTokenBeforeCountsAndThenTheLastPlace) {
  CalibratedTree calibrated;
  const std::vector<TokenId> text = {1, 5, 2, 5, 3, 5, 1, 5};
  std::vector<TopTokens> top(8);
  top[1] = {{11, 0.5f}};
  top[3] = {{12, 0.5f}};
  top[5] = {{13, 0.5f}};
  calibrated.Begin(text);
  calibrated.LearnPrompt(0, top);
  EXPECT_EQ(DraftOf(calibrated, 5)[1].token, 11);  // After 1 5.
  calibrated.Commit(TokenTree(5), {.path = {0}, .emitted = {2, 5}});
  EXPECT_EQ(DraftOf(calibrated, 5)[1].token, 12);
  calibrated.Commit(TokenTree(5), {.path = {0}, .emitted = {2}});
  calibrated.Commit(TokenTree(2), {.path = {0}, .emitted = {5}});
  EXPECT_EQ(DraftOf(calibrated, 5)[1].token, 12);
  calibrated.Commit(TokenTree(5), {.path = {0}, .emitted = {9, 5}});
  EXPECT_EQ(DraftOf(calibrated, 5)[1].token, 13);
}

TEST(CalibratedTree, TheLikeliestPathsAreWithinTheBudget) {
  CalibratedTree calibrated;
  calibrated.Begin({{1, 2, 1}});
  calibrated.LearnPrompt(0, {{{{2, 0.6f}, {3, 0.2f}, {4, 0.1f}}, {{5, 0.9f}, {6, 0.1f}}}});
  const TokenTree two = DraftOf(calibrated, 1, {.max_nodes = 2});
  EXPECT_EQ(two.PathTo(2), (std::vector<TokenId>{2, 5}));  // 0.54, before 3 with 0.2.
  EXPECT_EQ(DraftOf(calibrated, 1, {.max_nodes = 9, .max_depth = 1}).Depth(), 1);
  EXPECT_EQ(DraftOf(calibrated, 1).size(), 6);
}

TEST(CalibratedTree, TakesTwentyFourBytesATokenOfThePrompt) {
  CalibratedTree calibrated;
  SeededRandom random(3);
  for (const int length : {1, 100, 2000}) {
    std::vector<TokenId> text(length + 1);
    for (TokenId& token : text) token = static_cast<TokenId>(random.Below(150000));
    calibrated.Begin(text);
    calibrated.LearnPrompt(0, std::vector<TopTokens>(length, {{1, 0.5f}, {2, 0.2f}, {3, 0.1f}, {4, 0.1f}, {5, 0.1f}}));
    calibrated.Commit(TokenTree(text.back()), {.path = {0}, .emitted = {1}});
    EXPECT_EQ(calibrated.bytes(), 24 * length);
    EXPECT_EQ(DraftOf(calibrated, text[0]).size(), 5);
  }
}

TEST(CalibratedTree, LearnsOnlyTheNewTokensOfAContinuedText) {
  CalibratedTree calibrated;
  calibrated.Begin({{1, 2, 3}});
  calibrated.LearnPrompt(0, {{{{7, 0.5f}}, {{8, 0.5f}}}});
  calibrated.Begin({{1, 2, 3, 4, 5, 1}});
  calibrated.LearnPrompt(3, {{{{9, 0.5f}}}});
  EXPECT_EQ(DraftOf(calibrated, 1).PathTo(1), std::vector<TokenId>{7});
  EXPECT_EQ(DraftOf(calibrated, 4).PathTo(1), std::vector<TokenId>{9});
  calibrated.Begin({{1, 2, 3, 4}});        // Another answer to the same.
  calibrated.LearnPrompt(0, {{{{7, 0.5f}}, {{8, 0.5f}}, {{6, 0.5f}}, {{9, 0.5f}}}});
  calibrated.Commit(TokenTree(4), {.path = {0}, .emitted = {1}});
  EXPECT_EQ(DraftOf(calibrated, 1).size(), 2);
  EXPECT_EQ(calibrated.bytes(), 3 * 24);   // Nothing twice.
  calibrated.Begin({{1, 2, 9, 4, 1}});     // Another text.
  calibrated.Commit(TokenTree(1), {.path = {0}, .emitted = {1}});
  EXPECT_EQ(DraftOf(calibrated, 1).size(), 1);
  EXPECT_EQ(calibrated.bytes(), 0);
}

TEST(CalibratedTree, AnInvalidProbabilityIsLeftOut) {
  CalibratedTree calibrated;
  calibrated.Begin({{1, 1}});
  calibrated.LearnPrompt(0, {{{{2, std::nanf("")}, {3, -1.0f}, {4, 0.0f}, {5, 1e-30f}, {-1, 0.5f}, {1 << 24, 0.5f}, {6, 7.0f}}}});
  const TokenTree tree = DraftOf(calibrated, 1);
  ASSERT_EQ(tree.size(), 2);
  EXPECT_EQ(tree[1].token, 6);
  EXPECT_EQ(tree[1].probability, 1.0f);
}

TEST(CalibratedTree, AnyStepsLeaveTheDrafterSoundAndReproducible) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CalibratedTree one, other;
    const RandomSteps::Options options = {.seed = seed, .most_bytes = 40 * 28};
    ExpectSameProposals(RandomSteps(options).Run(one), RandomSteps(options).Run(other));
  }
}

}  // namespace
}  // namespace tessera
