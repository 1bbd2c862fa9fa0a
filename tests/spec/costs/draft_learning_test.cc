// What texts of one set learn of their drafters, and others do not.
#include "tessera/spec/costs/draft_learning.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/composite_drafter.h"
#include "tessera/spec/drafters/history/shared_history.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

constexpr int kTokens = 97;

std::shared_ptr<SharedHistory> NewSet(int64_t room = 1000) {
  return std::make_shared<SharedHistory>(std::make_shared<SharedHistory::Room>(room));
}

std::vector<TokenId> Counting(int length) {
  std::vector<TokenId> text(length);
  for (int i = 0; i < length; ++i) text[i] = i % kTokens;
  return text;
}

std::vector<std::unique_ptr<Drafter>> Wrong(int count = 1) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (int i = 0; i < count; ++i) drafters.push_back(std::make_unique<ScriptedDrafter>(Counting(400), /*wrong=*/1 + i, kTokens));
  return drafters;
}

// One text of a set, or one that is alone.
class Text {
 public:
  explicit Text(std::shared_ptr<SharedHistory> set, int drafters = 1) : drafter_(Wrong(drafters)) {
    drafter_.Join(std::move(set));
    drafter_.Begin({{0}});
  }

  // How probable the first guess is taken to be, which then proves to be wrong.
  float Step() {
    TokenTree tree(place_);
    EXPECT_TRUE(drafter_.Propose({.max_nodes = 4, .max_depth = 4}, tree).ok());
    drafter_.Commit(tree, {.path = {0}, .emitted = {++place_}});
    return tree[1].probability;
  }
  void Leave() { drafter_.Join(nullptr); }

 private:
  CompositeDrafter drafter_;
  TokenId place_ = 0;
};

float AfterSteps(Text& text, int steps) {
  for (int i = 0; i < steps; ++i) text.Step();
  return text.Step();
}

TEST(DraftLearning, HeaderExample) {
  DraftLearning learning(/*drafters=*/2);
  learning.acceptance[0].Add({.estimate = 0.9f, .depth = 1}, /*accepted=*/false);
  EXPECT_TRUE(learning.rules[1].active());
  const Guess guess = {.estimate = 0.9f, .depth = 1};
  EXPECT_LT(learning.acceptance[0].Probability(guess), learning.acceptance[1].Probability(guess));
}

TEST(DraftLearning, LearningOfOneTextIsSharedByItsSet) {
  const std::shared_ptr<SharedHistory> set = NewSet();
  Text alone(nullptr), first(set), second(set);
  const float believed = alone.Step(), learnt = AfterSteps(first, 20);
  EXPECT_LT(learnt, believed / 2);
  EXPECT_LE(second.Step(), learnt) << "it begins where the other one is";
  Text apart(nullptr), other(NewSet());
  EXPECT_FLOAT_EQ(apart.Step(), believed);
  EXPECT_FLOAT_EQ(other.Step(), believed);
}

TEST(DraftLearning, ATextBringsItsKnowledgeAndKeepsTheLearningOfItsSet) {
  Text text(nullptr), fresh(nullptr);
  const float known = AfterSteps(text, 20);
  const std::shared_ptr<SharedHistory> set = NewSet();
  CompositeDrafter first(Wrong()), second(Wrong());
  const auto first_guess = [](CompositeDrafter& drafter) {
    TokenTree tree(0);
    EXPECT_TRUE(drafter.Propose({.max_nodes = 4, .max_depth = 4}, tree).ok());
    return tree[1].probability;
  };
  first.Begin({{0}});
  for (TokenId token = 1; token <= 20; ++token) {
    TokenTree tree(token - 1);
    ASSERT_TRUE(first.Propose({.max_nodes = 4, .max_depth = 4}, tree).ok());
    first.Commit(tree, {.path = {0}, .emitted = {token}});
  }
  first.Join(set);
  second.Join(set);
  second.Begin({{0}});
  EXPECT_NEAR(first_guess(second), known, 0.05) << "the first text's knowledge";
  second.Join(nullptr);
  second.Begin({{0}});
  EXPECT_NEAR(first_guess(second), known, 0.05) << "and it is kept without the set";
  EXPECT_GT(fresh.Step(), 2 * known);
}

TEST(DraftLearning, WithoutRoomOrWithOtherDraftersATextLearnsForItself) {
  const float believed = Text(nullptr).Step();
  const std::shared_ptr<SharedHistory> full = NewSet(/*room=*/10);
  Text first(full), second(full);
  AfterSteps(first, 20);
  EXPECT_FLOAT_EQ(second.Step(), believed);
  EXPECT_EQ(full->tokens(), 0);
  const std::shared_ptr<SharedHistory> set = NewSet();
  Text one(set, /*drafters=*/1), two(set, /*drafters=*/2);
  AfterSteps(one, 20);
  Text two_alone(nullptr, /*drafters=*/2);
  EXPECT_FLOAT_EQ(two.Step(), two_alone.Step());
}

TEST(DraftLearning, LearningTakesRoomOnceAndReturnsTheRoomWithItsSet) {
  const auto room = std::make_shared<SharedHistory::Room>(1000);
  {
    const auto set = std::make_shared<SharedHistory>(room);
    EXPECT_EQ(set->tokens(), 0);
    Text first(set);
    const int64_t tokens = set->tokens();
    EXPECT_GT(tokens, 0);
    Text second(set);
    EXPECT_EQ(set->tokens(), tokens);
    EXPECT_LE(set->bytes(), tokens * SharedHistory::kMostBytesPerToken);
    EXPECT_EQ(room->left(), 1000 - tokens);
  }
  EXPECT_EQ(room->left(), 1000);
}

// Eight texts whose drafters are always wrong.
TEST(DraftLearning, ASetPausesInFewStepsADrafterThatEachTextWouldPauseLater) {
  CostProfile costs;
  for (const int rows : {1, 16, 64, 1, 16, 64, 1, 16, 64}) costs.AddPass({.rows = rows}, 0.005 + 3e-4 * rows);
  for (const int rows : {1, 16, 64, 1, 16, 64, 1, 16, 64}) costs.AddHead(rows, 0.001 + 1e-5 * rows);
  costs.AddDraft("fake", 1e-5);
  costs.Freeze();
  const auto rows_of = [&costs](std::shared_ptr<SharedHistory> set) {
    std::vector<std::unique_ptr<Speculator>> texts;
    for (int i = 0; i < 8; ++i) {
      texts.push_back(std::make_unique<Speculator>(Wrong(), Speculator::Options{.max_rows = 16, .costs = &costs}));
      texts.back()->Join(set);
      texts.back()->Begin({{0}});
    }
    int64_t rows = 0;
    for (TokenId token = 1; token <= 60; ++token) {
      for (const std::unique_ptr<Speculator>& text : texts) {
        const TokenTree tree = text->Propose({.rows = 16, .depth = 16});
        rows += tree.size() - 1;
        text->Commit(tree, {.path = {0}, .emitted = {token}}, {.pass_seconds = costs.PassSeconds(ShapeOf(tree)), .first_rows = 1});
      }
    }
    return rows;
  };
  const int64_t apart = rows_of(nullptr), together = rows_of(NewSet());
  EXPECT_GT(apart, 0);
  EXPECT_LT(together, apart / 4);
}

// Each guess that it makes is right, but it makes one in ten steps alone.
class Seldom : public CountingDrafter {
 public:
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    ++asked;
    if (emitted_ % 10 == 0) tree.Add(TokenTree::kRoot, static_cast<TokenId>(emitted_ % kTokens), 0.99f);
    return absl::OkStatus();
  }
  int asked = 0;
};

// By itself it gains; what it takes to ask it, which is nobody's, is more.
TEST(DraftLearning, ASharedCostPausesAllDraftersWhereNoneLosesAlone) {
  for (const double merging : {0.0, 2e-3}) {
    CostProfile costs;
    for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddPass({.rows = rows}, 0.005 + 1e-5 * rows);
    for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddHead(rows, 0.001);
    costs.AddDraft("fake", 1e-5);
    costs.AddDraft("merging", merging);
    costs.Freeze();
    auto own = std::make_unique<Seldom>();
    const Seldom& drafter = *own;
    Speculator speculator(std::move(own), {.max_rows = 16, .costs = &costs});
    speculator.Begin({{0}});
    for (TokenId token = 1; token < 1500;) {
      const TokenTree tree = speculator.Propose({.rows = 16, .depth = 16});
      Verdict verdict = {.path = {0}, .emitted = {token % kTokens}};
      ++token;
      if (tree.size() > 1) {
        verdict.path.push_back(1);
        verdict.emitted.push_back(token++ % kTokens);
      }
      speculator.Commit(tree, verdict, {.pass_seconds = 0.005, .first_rows = 1, .first_seconds = 0.001});
    }
    const SpeculationReport report = speculator.report();
    EXPECT_EQ(report.sources[0].pauses, 0) << "not for what it took itself";
    if (merging == 0) {
      EXPECT_EQ(report.rested_steps, 0);
    } else {
      EXPECT_GT(report.rested_steps, 1000) << drafter.asked;
      EXPECT_GT(drafter.asked, 30) << "it is tried again";
    }
  }
}

}  // namespace
}  // namespace tessera
