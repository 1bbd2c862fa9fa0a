// Speculators of several texts whose drafts share a pass.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

constexpr TreeRoom kRoom = {.rows = 16, .depth = 100};

std::vector<TokenId> Counting(int length) {
  std::vector<TokenId> text(length);
  for (int i = 0; i < length; ++i) text[i] = i % 97;
  return text;
}

// Passes of n rows, and logits of n rows; another row costs `row_seconds`.
CostProfile Frozen(double row_seconds) {
  CostProfile costs;
  for (int i = 0; i < 3; ++i) {
    for (const int rows : {1, 16, 64}) costs.AddPass({.rows = rows}, 0.005 + row_seconds * rows);
    for (const int rows : {1, 16, 64}) costs.AddHead(rows, 0.001 + 1e-5 * rows);
  }
  costs.AddDraft("fake", 1e-5);
  costs.Freeze();
  return costs;
}

std::unique_ptr<Speculator> Drafting(std::unique_ptr<Drafter> drafter, const Speculator::Options& options) {
  auto speculator = std::make_unique<Speculator>(std::move(drafter), options);
  speculator->Begin({{0}});
  return speculator;
}

TEST(SharedSpeculation, AloneATextIsDraftedAndCutAsByPropose) {
  CostProfile costs = Frozen(2e-4);
  const std::vector<TokenId> text = Counting(300);
  const auto proposing = Drafting(std::make_unique<RandomDrafter>(97, 3, text), {.max_rows = 16, .costs = &costs});
  const auto choosing = Drafting(std::make_unique<RandomDrafter>(97, 3, text), {.max_rows = 16, .costs = &costs});
  for (size_t place = 1; place < text.size(); ++place) {
    const TokenTree proposed = proposing->Propose(kRoom);
    EXPECT_LE(proposed.size(), choosing->Draft(kRoom).size());
    const TreeToCut to_cut = choosing->ToCut();
    const TokenTree chosen = choosing->Choose(ShareRows({&to_cut, 1}, costs, {.most_rows = 512})[0]);
    ASSERT_EQ(proposed.size(), chosen.size()) << place;
    for (int node = 0; node < chosen.size(); ++node) ASSERT_EQ(proposed[node].token, chosen[node].token) << place;
    ASSERT_EQ(proposing->logits_plan().first_rows, choosing->logits_plan().first_rows);
    const Verdict verdict = {.path = {0}, .emitted = {text[place]}};
    for (Speculator* const speculator : {proposing.get(), choosing.get()}) speculator->Commit(chosen, verdict, {});
  }
  EXPECT_EQ(proposing->report().predicted_seconds, choosing->report().predicted_seconds);
  EXPECT_GT(proposing->report().rows, 299);
}

TEST(SharedSpeculation, CommitTeachesNoCostsOfPasses) {
  CostProfile costs;
  for (const int rows : {1, 16}) costs.AddPass({.rows = rows}, 0.005);
  costs.AddHead(1, 0.001);
  const auto speculator = Drafting(std::make_unique<ScriptedDrafter>(Counting(50)), {.costs = &costs});
  const double before = costs.PassSeconds({.rows = 8}), head = costs.HeadSeconds(4);
  const TokenTree tree = speculator->Propose(kRoom);
  EXPECT_GT(tree.size(), 1);
  const StepTime time = {.pass_seconds = 3, .first_rows = 4, .first_seconds = 2, .top_rows = 1, .top_seconds = 1};
  speculator->Commit(tree, {.path = {0}, .emitted = {1}}, time);
  EXPECT_EQ(costs.PassSeconds({.rows = 8}), before);
  EXPECT_EQ(costs.HeadSeconds(4), head);
  EXPECT_EQ(costs.TopSeconds(1), 0);
  EXPECT_EQ(costs.DraftSeconds("fake"), 0) << "it may have read the text first";
  EXPECT_NEAR(speculator->report().pass_seconds, 3, 1e-9);
  speculator->Commit(speculator->Propose(kRoom), {.path = {0}, .emitted = {2}}, time);
  EXPECT_GT(costs.DraftSeconds("fake"), 0) << "that is its own";
}

TEST(SharedSpeculation, StepsOfManyTextsAreEnoughToDraftBy) {
  CostProfile costs;
  for (int i = 0; i < 3; ++i) costs.AddPass({.rows = 8, .leaves = 8, .texts = 8}, 0.0082);
  costs.AddHead(8, 0.004);
  EXPECT_GT(Drafting(std::make_unique<ScriptedDrafter>(Counting(50)), {.costs = &costs})->Draft(kRoom).size(), 1);
}

TEST(SharedSpeculation, TheRootAloneIsDraftedWhereNothingIsKnownOrWanted) {
  CostProfile unknown;
  EXPECT_EQ(Drafting(std::make_unique<ScriptedDrafter>(Counting(50)), {.costs = &unknown})->Draft(kRoom).size(), 1);
  const auto all = Drafting(std::make_unique<ScriptedDrafter>(Counting(50)), {.max_rows = 8, .weigh_costs = false, .costs = &unknown});
  EXPECT_EQ(all->Draft(kRoom).size(), 8);
  EXPECT_TRUE(all->ToCut().whole);
  EXPECT_EQ(all->Draft({.rows = 1, .depth = 9}).size(), 1);
}

// Texts of which one is drafted rightly and one wrongly, with costs by which not all rows pay.
TEST(SharedSpeculation, WrongDraftsArePausedAndRightOnesGoOn) {
  CostProfile costs = Frozen(3e-4);
  const std::vector<TokenId> text = Counting(400);
  std::vector<std::unique_ptr<Speculator>> speculators;
  for (const int wrong : {0, 1, 0}) {
    speculators.push_back(Drafting(std::make_unique<ScriptedDrafter>(text, wrong, 97), {.max_rows = 16, .costs = &costs}));
  }
  std::vector<size_t> places(speculators.size(), 1);
  for (int step = 0; step < 60; ++step) {
    std::vector<TreeToCut> to_cut;
    for (size_t i = 0; i < speculators.size(); ++i) {
      speculators[i]->Draft({.rows = 16, .depth = static_cast<int>(text.size() - places[i]) - 1});
      to_cut.push_back(speculators[i]->ToCut());
    }
    const std::vector<RowChoice> choices = ShareRows(to_cut, costs, {.most_rows = 24});
    CostProfile::Shape all = choices[0].beside;
    all = {all.rows + choices[0].shape().rows, all.leaves + choices[0].shape().leaves, all.texts + 1};
    EXPECT_LE(all.rows, 24);
    for (size_t i = 0; i < speculators.size() && places[i] < text.size(); ++i) {
      const TokenTree tree = speculators[i]->Choose(choices[i]);
      Verification verification(tree);
      while (verification.node() != TokenTree::kNone && places[i] < text.size()) {
        const TokenId next = text[places[i]++];
        verification.Next({next, places[i] == text.size()});
      }
      const double seconds = MarginalShare(all, choices[i].shape(), costs) * costs.PassSeconds(all);
      speculators[i]->Commit(tree, verification.Take(), {.pass_seconds = seconds, .first_rows = 1, .first_seconds = 1e-3});
    }
  }
  for (const int right : {0, 2}) {
    const SpeculationReport report = speculators[right]->report();
    EXPECT_EQ(report.sources[0].pauses, 0);
    EXPECT_GT(report.TokensPerStep(), 4);
    EXPECT_NEAR(report.predicted_tokens / static_cast<double>(report.tokens), 1, 0.2);
  }
  const SpeculationReport wrong = speculators[1]->report();
  EXPECT_GT(wrong.rested_steps + wrong.sources[0].paused_steps, 10) << wrong.Pauses();
}

// Beside seven others a token is worth an eighth of a pass.
TEST(SharedSpeculation, ADrafterThatPaysAloneIsPausedWhereATokenIsWorthLess) {
  CostProfile costs;
  for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddPass({.rows = rows}, 0.005 + 1e-4 * rows);
  for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddHead(rows, 0.001);
  costs.AddDraft("fake", 0.003);
  costs.Freeze();
  for (const int others : {0, 7}) {
    const std::vector<TokenId> text = Counting(100);
    const auto speculator = Drafting(std::make_unique<ScriptedDrafter>(text), {.max_rows = 2, .costs = &costs});
    for (size_t place = 1; place + 1 < text.size(); place += speculator->report().tokens + 1 - place) {
      const bool drafts = speculator->Draft(kRoom).size() > 1;
      RowChoice choice = {.beside = {.rows = others, .leaves = others, .texts = others}};
      if (drafts) choice.nodes = {1};
      const TokenTree tree = speculator->Choose(choice);
      Verdict verdict = {.path = {0}, .emitted = {text[place]}};
      if (drafts) verdict = {.path = {0, 1}, .emitted = {text[place], text[place + 1]}};
      speculator->Commit(tree, verdict, {.pass_seconds = 0.005, .first_rows = 1, .first_seconds = 0.001});
    }
    EXPECT_EQ(speculator->report().sources[0].pauses > 0, others > 0) << others;
  }
}

}  // namespace
}  // namespace tessera
