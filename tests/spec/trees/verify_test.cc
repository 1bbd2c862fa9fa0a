#include "tessera/spec/trees/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// A model of four tokens, which after token t says t + 1.
struct Counting {
  std::vector<int> asked;
  std::vector<float> logits;
  absl::StatusOr<absl::Span<const float>> Of(const TokenTree& tree, int node) {
    asked.push_back(node);
    logits.assign(4, 0.0f);
    logits[(tree[node].token + 1) % 4] = 1;
    return logits;
  }
};

absl::StatusOr<Choice> Largest(absl::Span<const float> logits) {
  return Choice{static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
}

TEST(Verify, HeaderExample) {
  TokenTree tree(0);
  const int right = tree.Add(TokenTree::kRoot, 1, 0.5f);
  Counting model;
  const auto logits_of_node = [&](int node) { return model.Of(tree, node); };
  const auto chooser = Largest;
  Verdict verdict;
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(Verify(tree, logits_of_node, chooser, verdict));
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(verdict.path, (std::vector<int>{0, right}));
  EXPECT_EQ(verdict.emitted, (std::vector<TokenId>{1, 2}));
}

TEST(Verify, GoesDownTheRightPathAndAsksForNothingElse) {
  TokenTree tree(0);
  tree.Add(0, 3, 0.9f);
  const int right = tree.Add(0, 1, 0.1f), wrong = tree.Add(right, 1, 0.9f), deep = tree.Add(right, 2, 0.1f);
  tree.Add(wrong, 2, 0.5f);
  Counting model;
  Verdict verdict;
  ASSERT_TRUE(Verify(tree, [&](int node) { return model.Of(tree, node); }, Largest, verdict).ok());
  EXPECT_EQ(verdict.emitted, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(verdict.path, (std::vector<int>{0, right, deep}));
  EXPECT_EQ(model.asked, verdict.path);
}

TEST(Verify, ATextThatEndsInADraftIsNotGoneBeyond) {
  TokenTree tree(0);
  tree.Add(tree.Add(0, 1, 0.5f), 2, 0.5f);
  Counting model;
  Verdict verdict;
  const auto ends = [](absl::Span<const float> logits) -> absl::StatusOr<Choice> { return Choice{Largest(logits)->token, true}; };
  ASSERT_TRUE(Verify(tree, [&](int node) { return model.Of(tree, node); }, ends, verdict).ok());
  EXPECT_EQ(verdict.emitted, (std::vector<TokenId>{1}));
  EXPECT_EQ(verdict.path, (std::vector<int>{0}));
}

TEST(Verify, AnErrorKeepsTheEmittedTokens) {
  TokenTree tree(0);
  const int right = tree.Add(0, 1, 0.5f);
  Counting model;
  Verdict verdict;
  const auto fails = [&](int node) -> absl::StatusOr<absl::Span<const float>> {
    if (node == right) return absl::UnavailableError("unit 3");
    return model.Of(tree, node);
  };
  EXPECT_EQ(Verify(tree, fails, Largest, verdict).message(), "unit 3");
  EXPECT_EQ(verdict.emitted, (std::vector<TokenId>{1}));
  EXPECT_EQ(verdict.path, (std::vector<int>{0, right}));
}

// A node that is left out half-way ends the path before it, as if it had not been drafted.
TEST(Verify, APrunedNodeIsNotThere) {
  TokenTree tree(0);
  const int first = tree.Add(0, 1, 0.5f), second = tree.Add(first, 2, 0.5f);
  tree.Add(second, 3, 0.5f);
  const std::vector<bool> gone = {false, false, true, true};
  Verification verification(tree);
  verification.Prune(gone);
  for (TokenId token = 1; verification.node() != TokenTree::kNone; ++token) verification.Next({token});
  const Verdict verdict = verification.Take();
  EXPECT_EQ(verdict.path, (std::vector<int>{0, first}));
  EXPECT_EQ(verdict.emitted, (std::vector<TokenId>{1, 2}));
}

}  // namespace
}  // namespace tessera
