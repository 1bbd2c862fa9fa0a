#include "tessera/spec/drafters/composite_drafter.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

// Proposes the same paths each time, with the probability of each token.
class Fixed : public Drafter {
 public:
  using Path = std::vector<std::pair<TokenId, float>>;
  explicit Fixed(std::vector<Path> paths, int top = 0) : paths_(std::move(paths)), top_(top) {}
  absl::string_view name() const override { return "fixed"; }
  DrafterNeeds needs() const override { return {.top_of_rows = top_}; }
  void Begin(absl::Span<const TokenId> text) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    for (const Path& path : paths_) {
      int node = TokenTree::kRoot;
      for (const auto& [token, probability] : path) node = tree.Add(node, token, probability);
    }
    return paths_.empty() ? absl::InternalError("no idea") : absl::OkStatus();
  }
  void Commit(const TokenTree& tree, const Verdict& verdict) override { ++commits; }
  int64_t bytes() const override { return 100; }
  int commits = 0;

 private:
  const std::vector<Path> paths_;
  const int top_;
};

CompositeDrafter Of(std::vector<std::vector<Fixed::Path>> members) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (std::vector<Fixed::Path>& paths : members)
    drafters.push_back(std::make_unique<Fixed>(std::move(paths), static_cast<int>(drafters.size())));
  return CompositeDrafter(std::move(drafters));
}

TEST(CompositeDrafter, HeaderExample) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(std::make_unique<PromptLookup>(PromptLookup::Options()));
  CompositeDrafter composite(std::move(drafters));
  composite.Begin(text);
  TokenTree tree(2);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  EXPECT_EQ(tree[1].token, 3);
  EXPECT_EQ(tree[1].source, 0);
  composite.Commit(tree, {.path = {0, 1}, .emitted = {3, 9}});
  EXPECT_EQ(composite.account(0).accepted, 1);
}

TEST(CompositeDrafter, OneTreeOfAllWithTheMoreProbableSource) {
  CompositeDrafter composite = Of({{{{5, 0.3f}, {6, 0.9f}}}, {{{5, 0.6f}, {7, 0.8f}}, {{8, 0.2f}}}});
  composite.Begin({{1}});
  TokenTree tree(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  ASSERT_EQ(tree.size(), 5);
  const int five = tree.Child(TokenTree::kRoot, 5);
  EXPECT_NEAR(tree[five].probability, 1.5f / 2.75f, 1e-5f);   // Odds of 1.5, of 0.25 for its sister, and 1 for neither.
  EXPECT_EQ(tree[five].source, 1);
  EXPECT_EQ(tree[tree.Child(five, 6)].source, 0);
  // 6 and 7 promise 1.7 together, and at most one of them comes: odds of 9 and of 4 against 1 for neither.
  EXPECT_NEAR(tree[tree.Child(five, 6)].probability, 9.0f / 14, 1e-5f);
  EXPECT_NEAR(tree[tree.Child(five, 7)].probability, 4.0f / 14, 1e-5f);
}

TEST(CompositeDrafter, KeepsTheNodesThatTheTextReachesMostProbably) {
  CompositeDrafter composite = Of({{{{5, 0.3f}, {6, 0.9f}}}, {{{7, 0.5f}, {8, 0.1f}}}});
  composite.Begin({{1}});
  TokenTree three(1), shallow(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 3}, three).ok());
  EXPECT_EQ(three.size(), 4);
  EXPECT_NE(three.Child(three.Child(TokenTree::kRoot, 5), 6), TokenTree::kNone);
  EXPECT_EQ(three.Child(three.Child(TokenTree::kRoot, 7), 8), TokenTree::kNone);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31, .max_depth = 1}, shallow).ok());
  EXPECT_EQ(shallow.Depth(), 1);
}

TEST(CompositeDrafter, LearnsOfGuessesThatNobodyVerified) {
  CompositeDrafter composite = Of({{{{5, 0.9f}}}, {{{6, 0.2f}}}});
  composite.Begin({{1}});
  for (int i = 0; i < 30; ++i) {
    TokenTree tree(1);
    ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
    composite.Commit(TokenTree(1), {.path = {0}, .emitted = {6}});
  }
  TokenTree tree(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  EXPECT_LT(tree[tree.Child(0, 5)].probability, 0.1f);
  EXPECT_GT(tree[tree.Child(0, 6)].probability, 0.8f);
  EXPECT_EQ(composite.account(0).proposed, 31);
  EXPECT_EQ(composite.account(0).verified, 0);
}

TEST(CompositeDrafter, CountsByDrafterAndDepth) {
  CompositeDrafter composite = Of({{{{5, 0.9f}, {6, 0.9f}, {7, 0.9f}}}, {{{5, 0.5f}, {8, 0.5f}}}});
  composite.Begin({{1}});
  TokenTree tree(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  const int five = tree.Child(0, 5), six = tree.Child(five, 6);
  const TokenTree verified = tree.Pick({five, six});
  composite.Commit(verified, {.path = {0, 1}, .emitted = {5, 9}});
  EXPECT_EQ(composite.account(0).proposed, 3);
  EXPECT_EQ(composite.account(0).verified, 2);
  EXPECT_EQ(composite.account(0).accepted, 1);
  EXPECT_EQ(composite.account(0).verified_at[1], 1);
  EXPECT_EQ(composite.account(0).accepted_at[1], 0);
  EXPECT_EQ(composite.account(1).verified, 1);   // 5 was its guess, too.
  EXPECT_EQ(composite.account(1).accepted_at[0], 1);
}

TEST(CompositeDrafter, OneThatFailsTakesNothingFromTheOthers) {
  CompositeDrafter composite = Of({{}, {{{5, 0.5f}}}});
  composite.Begin({{1}});
  TokenTree tree(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  EXPECT_EQ(tree.size(), 2);
  EXPECT_EQ(composite.account(0).failures, 1);
  EXPECT_EQ(composite.account(0).failure, absl::InternalError("no idea"));
  EXPECT_EQ(composite.account(1).failures, 0);
}

TEST(CompositeDrafter, OneThatIsOffIsNotAskedButFollowsTheText) {
  CompositeDrafter composite = Of({{{{5, 0.5f}}}, {{{6, 0.5f}}}});
  EXPECT_EQ(composite.needs().top_of_rows, 1);
  composite.Switch(1, false);
  EXPECT_EQ(composite.needs().top_of_rows, 0);
  composite.Begin({{1}});
  TokenTree tree(1);
  ASSERT_TRUE(composite.Propose({.max_nodes = 31}, tree).ok());
  EXPECT_EQ(tree.size(), 2);
  composite.Commit(tree, {.path = {0}, .emitted = {9}});
  EXPECT_EQ(composite.account(1).calls, 0);
  EXPECT_EQ(static_cast<const Fixed&>(composite.drafter(1)).commits, 1);
}

class SlowDraft : public testing::Test {
 protected:
  SlowDraft() { composite_.Begin({{1}}); }
  static std::vector<std::unique_ptr<Drafter>> Slow(TickingClock& clock) {
    std::vector<std::unique_ptr<Drafter>> drafters;
    drafters.push_back(std::make_unique<SlowDrafter>(std::vector<TokenId>{5, 6, 7}, /*nanos=*/50'000'000, clock));
    return drafters;
  }
  void Step(TokenId root) {
    TokenTree tree(root);
    ASSERT_TRUE(composite_.Propose({.max_nodes = 3}, tree).ok());
    EXPECT_GE(composite_.propose_seconds(0), 0.05);
    composite_.Commit(tree, {.path = {0}, .emitted = {5}});
  }
  TickingClock clock_{1000};
  CompositeDrafter composite_{Slow(clock_), clock_};
};

TEST_F(SlowDraft, AStepWithoutAProposalIsNotChargedForTheStepBefore) {
  Step(1);
  Step(5);
  EXPECT_GE(composite_.step_seconds(0), 0.05);
  composite_.Commit(TokenTree(5), {.path = {0}, .emitted = {6}});
  EXPECT_LT(composite_.step_seconds(0), 0.05);
}

TEST_F(SlowDraft, ReadingATextIsNoStep) {
  Step(1);
  EXPECT_EQ(composite_.step_seconds(0), 0);
  EXPECT_GE(composite_.account(0).seconds, 0.05);
  Step(5);
  EXPECT_GE(composite_.step_seconds(0), 0.05);
  composite_.Begin({{1}});
  Step(1);
  EXPECT_EQ(composite_.step_seconds(0), 0);
}

}  // namespace
}  // namespace tessera
