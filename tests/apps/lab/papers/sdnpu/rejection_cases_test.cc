// Why drafts were rejected, by examples worked by hand: each case, what decides between two, and where the window ends.
#include "tessera/apps/lab/papers/sdnpu/rejection_cases.h"

#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

TEST(RejectionCases, HeaderExample) {
  EXPECT_EQ(CaseOf({5, 6, 7}, {5, 6, 7, 8}), RejectionCase::kNone);
  EXPECT_EQ(CaseOf({5, 6, 7}, {5, 1, 6, 7}), RejectionCase::kMissing);
  EXPECT_EQ(CaseOf({5, 6, 7, 8}, {5, 1, 7, 8}), RejectionCase::kSynonym);
  EXPECT_EQ(CaseOf({5, 6, 7}, {5, 1, 2, 3}), RejectionCase::kRedundant);
}

TEST(RejectionCases, ADraftWithoutRejectionIsNoCase) {
  EXPECT_EQ(CaseOf({}, {1, 2}), RejectionCase::kNone);
  EXPECT_EQ(CaseOf({5, 6}, {}), RejectionCase::kNone);
  EXPECT_EQ(CaseOf({5, 6}, {5, 6}), RejectionCase::kNone);
  EXPECT_EQ(CaseOf({5, 6, 7}, {5, 6}), RejectionCase::kNone) << "the text ends before it could disagree";
  EXPECT_EQ(CaseOf({5, 6, 7}, {5, 6, 8}), RejectionCase::kRedundant);
}

// 10 11 12 is rejected at once or after its first token; anything may follow the segment.
TEST(RejectionCases, MissingResumesAtTheRejectedToken) {
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 10, 11, 9}), RejectionCase::kMissing);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 2, 3, 10, 11, 12}), RejectionCase::kMissing);
  EXPECT_EQ(CaseOf({10, 11, 12}, {10, 1, 11, 12}), RejectionCase::kMissing);
  EXPECT_EQ(CaseOf({10, 11}, {11, 10, 11}), RejectionCase::kMissing) << "what is inserted may be a token of the draft";
}

TEST(RejectionCases, SynonymGoesOnLater) {
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 11, 12}), RejectionCase::kSynonym);
  EXPECT_EQ(CaseOf({10, 11, 12, 13}, {1, 2, 12, 13, 9}), RejectionCase::kSynonym) << "two tokens for two others";
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 2, 3, 11, 12}), RejectionCase::kSynonym) << "three tokens for one";
  EXPECT_EQ(CaseOf({10, 11, 12, 13}, {10, 1, 12, 13}), RejectionCase::kSynonym);
}

TEST(RejectionCases, ATokenAloneIsNoSegment) {
  EXPECT_EQ(CaseOf({10}, {1, 10}), RejectionCase::kRedundant);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 10, 9}), RejectionCase::kRedundant);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 12, 9}), RejectionCase::kRedundant);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 10, 9, 11, 9, 12}), RejectionCase::kRedundant) << "not in one piece";
}

// A token that the text merely leaves out is no case of the paper's, which has z_e before each segment.
TEST(RejectionCases, SomethingIsAlwaysInserted) {
  EXPECT_EQ(CaseOf({10, 11, 12}, {11, 12, 9}), RejectionCase::kRedundant);
}

TEST(RejectionCases, TheLongestSegmentDecidesAndMissingAmongEqualOnes) {
  EXPECT_EQ(CaseOf({10, 11, 12, 13, 14}, {1, 10, 11, 2, 12, 13, 14}), RejectionCase::kSynonym);
  EXPECT_EQ(CaseOf({10, 11, 12, 13, 14}, {1, 12, 13, 2, 10, 11, 12}), RejectionCase::kMissing);
  EXPECT_EQ(CaseOf({10, 11, 12, 13}, {1, 12, 13, 2, 10, 11, 9}), RejectionCase::kMissing);
}

TEST(RejectionCases, TheWindowEndsAfterEightTokens) {
  for (const bool synonym : {false, true}) {
    const Tokens draft = synonym ? Tokens{9, 10, 11} : Tokens{10, 11};
    Tokens text(kMostInserted, 1);
    text.insert(text.end(), {10, 11});
    EXPECT_EQ(CaseOf(draft, text), synonym ? RejectionCase::kSynonym : RejectionCase::kMissing);
    text.insert(text.begin(), 1);
    EXPECT_EQ(CaseOf(draft, text), RejectionCase::kRedundant);
  }
}

TEST(RejectionCases, TokensThatTheTextNoLongerHasAreRedundant) {
  EXPECT_EQ(CaseOf({10, 11, 12}, {1}), RejectionCase::kRedundant);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 10}), RejectionCase::kRedundant);
  EXPECT_EQ(CaseOf({10, 11, 12}, {1, 10, 11}), RejectionCase::kMissing);
}

TEST(RejectionCases, AMainPathIsTheFirstOfATree) {
  TokenTree tree(1);
  EXPECT_EQ(MainPath(tree), Tokens());
  const int first = tree.Add(TokenTree::kRoot, 2, 0.3f);
  tree.Add(first, 3, 0.9f);
  EXPECT_EQ(MainPath(tree), (Tokens{2, 3}));
  const int other = tree.Add(TokenTree::kRoot, 5, 0.6f);
  tree.Add(other, 6, 0.5f);
  EXPECT_EQ(MainPath(tree), (Tokens{2, 3}));
  EXPECT_EQ(MainPath(tree.Pick({1, 2, 3, 4})), (Tokens{5, 6})) << "the likeliest comes first";
}

}  // namespace
}  // namespace tessera
