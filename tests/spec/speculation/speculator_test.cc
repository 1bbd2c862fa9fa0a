#include "tessera/spec/speculation/speculator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

TEST(Speculator, HeaderExample) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  CostProfile costs;
  costs.AddPass({.rows = 1}, 0.004);
  costs.AddPass({.rows = 16}, 0.005);
  costs.AddHead(1, 0.001);
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .costs = &costs});
  speculator.Begin(text);
  const TokenTree tree = speculator.Propose({.rows = 512, .depth = 4000});
  EXPECT_EQ(tree[0].token, 2);
  EXPECT_EQ(tree.size(), 5);
  const Verdict verdict = {.path = {0, 1}, .emitted = {3, 9}};
  const StepTime time = {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001};
  LearnStep(ShapeOf(tree), time, costs);
  speculator.Commit(tree, verdict, time);
  EXPECT_EQ(speculator.Propose({.rows = 512, .depth = 4000})[0].token, 9);
}

class Failing : public Drafter {
 public:
  absl::string_view name() const override { return "failing"; }
  void Begin(absl::Span<const TokenId> text) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override { return absl::InternalError("no idea"); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {}
  int64_t bytes() const override { return 0; }
};

TEST(Speculator, ADrafterThatFailsCostsNoText) {
  Speculator speculator(std::make_unique<Failing>(), {});
  speculator.Begin({{1}});
  EXPECT_EQ(speculator.Propose({.rows = 8, .depth = 8}).size(), 1);
  EXPECT_EQ(speculator.report().Failures(), "failing: failed 1 time, first: INTERNAL: no idea");
  EXPECT_EQ(Speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {}).report().Failures(), "");
}

// As --speculate=none where programs are measured against themselves.
TEST(Speculator, WithoutDraftersASpeculatorIsPlainDecoding) {
  CostProfile costs;
  for (int i = 0; i < 4; ++i) {
    costs.AddPass({.rows = 1}, 0.004);
    costs.AddHead(1, 0.001);
  }
  Speculator speculator(std::vector<std::unique_ptr<Drafter>>(), {.costs = &costs});
  speculator.Begin({{1, 2, 1}});
  const TokenTree tree = speculator.Propose({.rows = 8, .depth = 8});
  EXPECT_EQ(tree.size(), 1);
  speculator.Commit(tree, {.path = {0}, .emitted = {2}}, {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001});
  EXPECT_EQ(speculator.report().tokens, 1);
  EXPECT_TRUE(speculator.report().sources.empty());
}

TEST(Speculator, KeepsToTheRoomThereIs) {
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .weigh_costs = false});
  speculator.Begin({{1, 2, 3, 4, 1, 2}});
  EXPECT_EQ(speculator.Propose({.rows = 3, .depth = 9}).size(), 3);
  EXPECT_EQ(speculator.Propose({.rows = 9, .depth = 1}).size(), 2);
  EXPECT_EQ(speculator.Propose({.rows = 1, .depth = 9}).size(), 1);
  EXPECT_EQ(speculator.Propose({.rows = 9, .depth = 0}).size(), 1);
}

// A profile as SmolLM2's on two threads, frozen: passes of n rows, logits of one, and what "fake" takes.
CostProfile Frozen(double draft_seconds = 1e-5) {
  CostProfile costs;
  for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddPass({.rows = rows}, 0.0044 + 0.0013 * rows);
  for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddHead(rows, 0.0001 + 0.001 * rows);
  costs.AddDraft("fake", draft_seconds);
  costs.AddTop(1, 1e-4);
  costs.Freeze();
  return costs;
}

struct Replayed {
  std::vector<TokenTree> trees;
  SpeculationReport report;
  double modeled_seconds = 0;        // Time of all steps, by the costs.
  double last_modeled_seconds = 0;   // But for the first sixteen,
  double last_plain_seconds = 0;     // and of as many tokens without draft.
};

// What the speculator does where the model writes `text`.
Replayed Replay(std::unique_ptr<Drafter> drafter, CostProfile& costs, const std::vector<TokenId>& text, double real_seconds = 0.005,
                const Clock* clock = nullptr) {
  Replayed result;
  const TickingClock own(1000);
  const std::string name(drafter->name());
  Speculator speculator(std::move(drafter), {.max_rows = 16, .costs = &costs, .clock = clock != nullptr ? clock : &own});
  speculator.Begin({text.data(), 1});
  for (size_t place = 1; place < text.size();) {
    const int64_t calls = speculator.report().sources[0].account.calls;
    const TokenTree tree = speculator.Propose({.rows = 512, .depth = 400});
    const bool asked = speculator.report().sources[0].account.calls > calls;
    EXPECT_EQ(tree[0].token, text[place - 1]);
    Verdict verdict = {.path = {0}};
    int next = TokenTree::kRoot;
    while (next != TokenTree::kNone && place < text.size()) {
      verdict.emitted.push_back(text[place]);
      next = tree.Child(next, text[place++]);
      if (next != TokenTree::kNone && place < text.size()) verdict.path.push_back(next);
    }
    verdict.top.resize(tree.size());
    const LogitsPlan& plan = speculator.logits_plan();
    const int later = std::max(0, static_cast<int>(verdict.path.size()) - plan.first_rows),
              tops = plan.top > 0 ? plan.first_rows + later : 0;
    const double seconds = costs.PassSeconds({tree.size(), tree.Leaves()}) + costs.HeadSeconds(plan.first_rows) +
                           later * costs.HeadSeconds(1) + (asked ? costs.DraftSeconds(name) : 0) + costs.TopSeconds(tops);
    const StepTime time = {.pass_seconds = real_seconds, .first_rows = plan.first_rows, .first_seconds = real_seconds,
                           .later_rows = later, .later_seconds = real_seconds, .top_rows = tops};
    LearnStep(ShapeOf(tree), time, costs);
    speculator.Commit(tree, verdict, time);
    result.modeled_seconds += seconds;
    if (result.trees.size() >= 16) {
      result.last_modeled_seconds += seconds;
      result.last_plain_seconds += static_cast<double>(verdict.emitted.size()) * costs.PlainSeconds();
    }
    result.trees.push_back(tree);
    result.report = speculator.report();
  }
  return result;
}

std::vector<TokenId> Counting(int length) {
  std::vector<TokenId> text(length);
  for (int i = 0; i < length; ++i) text[i] = i % 97;
  return text;
}

TEST(Speculator, AlwaysWrongIsPlainSpeedAfterSixteenPasses) {
  for (const double draft_seconds : {1e-6, 1e-4, 1e-3, 1e-2}) {
    CostProfile costs = Frozen(draft_seconds);
    const std::vector<TokenId> text = Counting(1000);
    const Replayed wrong = Replay(std::make_unique<ScriptedDrafter>(text, 1, 97), costs, text);
    EXPECT_EQ(wrong.trees.size(), 999u);
    EXPECT_GT(wrong.last_plain_seconds / wrong.last_modeled_seconds, 0.98) << draft_seconds;
  }
}

// Needs the likeliest tokens, which cost, and makes nothing of them.
class Learner : public ScriptedDrafter {
 public:
  using ScriptedDrafter::ScriptedDrafter;
  DrafterNeeds needs() const override { return {.top_of_rows = 4}; }
};

TEST(Speculator, UselessLearningIsPausedToo) {
  CostProfile costs = Frozen();
  const std::vector<TokenId> text = Counting(1000);
  const Replayed wrong = Replay(std::make_unique<Learner>(text, 1, 97), costs, text);
  EXPECT_GT(wrong.last_plain_seconds / wrong.last_modeled_seconds, 0.98);
  EXPECT_GT(wrong.report.sources[0].paused_steps + wrong.report.rested_steps, 500);
  EXPECT_NE(wrong.report.Pauses().find("fake: paused"), std::string::npos) << wrong.report.Pauses();
}

TEST(Speculator, RightDraftsAreFasterByTheCostOfRows) {
  CostProfile costs = Frozen();
  const std::vector<TokenId> text = Counting(300);
  const Replayed right = Replay(std::make_unique<ScriptedDrafter>(text), costs, text);
  const double plain = 299 * costs.PlainSeconds(), bound = 299 / 16.0 * (costs.PassSeconds({.rows = 16}) + 16 * costs.HeadSeconds(1));
  EXPECT_GT(plain / right.modeled_seconds, 0.9 * plain / bound);
  EXPECT_EQ(right.report.sources[0].pauses, 0);
  EXPECT_NEAR(right.report.PredictedGain(), plain / right.modeled_seconds, 0.1 * plain / right.modeled_seconds);
  EXPECT_NEAR(right.report.predicted_seconds, right.modeled_seconds, 0.02 * right.modeled_seconds);
  EXPECT_GT(right.report.TokensPerStep(), 10);
}

// Frozen costs may be those of another machine: a gain over them would be no figure of this run.
TEST(Speculator, AGainIsOverStepsOfThisRunAlone) {
  CostProfile costs = Frozen();
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .costs = &costs});
  speculator.Begin({{1, 2, 3, 4, 1, 2}});
  const TokenTree drafted = speculator.Propose({.rows = 512, .depth = 4000});
  ASSERT_GT(drafted.size(), 1);
  const StepTime time = {.pass_seconds = 2e-6, .first_rows = 1, .first_seconds = 1e-6};
  speculator.Commit(drafted, {.path = {0, 1}, .emitted = {3, 4}}, time);
  EXPECT_FALSE(speculator.report().Gain().has_value()) << "no step was without draft";
  const TokenTree plain = speculator.Propose({.rows = 1, .depth = 4000});
  ASSERT_EQ(plain.size(), 1);
  speculator.Commit(plain, {.path = {0}, .emitted = {1}}, time);
  SpeculationReport report = speculator.report();
  ASSERT_TRUE(report.Gain().has_value());
  EXPECT_NEAR(report.plain_seconds, 3 * 3e-6, 1e-12) << "three tokens, each as the step without draft";
  EXPECT_NEAR(report.compared_seconds, report.Seconds(), 1e-12);
  SpeculationReport unknown = {.steps = 1, .tokens = 5, .pass_seconds = 1};
  unknown.sources = report.sources;
  const double gain = *report.Gain();
  report.Add(unknown);
  EXPECT_EQ(*report.Gain(), gain) << "steps that nothing can be compared with count on neither side";
}

// Eight texts in a pass that costs the same with one: a token of each costs an eighth, and a draft gains no more than its tokens.
TEST(Speculator, TheExpectedGainIsOverTextsTogether) {
  CostProfile costs;
  for (const int rows : {1, 8, 64, 1, 8, 64, 1, 8, 64}) {
    const int texts = std::min(rows, 8);
    costs.AddPass({.rows = rows, .leaves = texts, .texts = texts}, 0.01);
    costs.AddHead(rows, 1e-4);
  }
  costs.Freeze();
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .costs = &costs});
  speculator.Begin({{1, 2, 3, 4, 1, 2}});
  const TokenTree& draft = speculator.Draft({.rows = 64, .depth = 4000});
  const std::vector<TokenTree> others(7, TokenTree(0));
  std::vector<TreeToCut> all = {speculator.ToCut()};
  for (const TokenTree& other : others) all.push_back({.tree = &other});
  const RowChoice choice = ShareRows(all, costs, {.most_rows = 64})[0];
  ASSERT_GT(draft.size(), 1);
  speculator.Choose(choice);
  const SpeculationReport report = speculator.report();
  EXPECT_LE(report.PredictedGain(), report.predicted_tokens * 1.05);
  EXPECT_GT(report.PredictedGain(), 1);
}

TEST(Speculator, WithFrozenCostsTheClockDecidesNothing) {
  const std::vector<TokenId> text = Counting(400);
  CostProfile costs = Frozen();
  std::vector<std::vector<TokenTree>> runs;
  for (const double real_seconds : {1e-6, 0.005, 3.0}) {
    runs.push_back(Replay(std::make_unique<RandomDrafter>(97, 5, text), costs, text, real_seconds).trees);
  }
  for (const std::vector<TokenTree>& run : runs) {
    ASSERT_EQ(run.size(), runs[0].size());
    for (size_t step = 0; step < run.size(); ++step) {
      ASSERT_EQ(run[step].size(), runs[0][step].size()) << step;
      for (int node = 0; node < run[step].size(); ++node) ASSERT_EQ(run[step][node].token, runs[0][step][node].token);
    }
  }
}

// Takes its time by a clock of the test's, now more and now less.
class TimedDrafter : public ScriptedDrafter {
 public:
  TimedDrafter(std::vector<TokenId> text, VirtualClock& clock) : ScriptedDrafter(std::move(text)), clock_(clock) {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    clock_.Advance(1'000'000 * (1 + calls_++ % 7));
    return ScriptedDrafter::Propose(budget, tree);
  }

 private:
  VirtualClock& clock_;
  int calls_ = 0;
};

TEST(Speculator, ByAClockThatIsGivenInDecisionsCanBeRepeatedWhileCostsAreLearnt) {
  const std::vector<TokenId> text = Counting(300);
  std::vector<Replayed> runs;
  for (int run = 0; run < 2; ++run) {
    VirtualClock clock;
    CostProfile costs;
    runs.push_back(Replay(std::make_unique<TimedDrafter>(text, clock), costs, text, 0.005, &clock));
    EXPECT_DOUBLE_EQ(runs.back().report.draft_seconds, static_cast<double>(clock.NowNanos()) * 1e-9) << "no time but the clock's";
  }
  ASSERT_EQ(runs[0].trees.size(), runs[1].trees.size());
  for (size_t step = 0; step < runs[0].trees.size(); ++step) ASSERT_EQ(runs[0].trees[step].size(), runs[1].trees[step].size()) << step;
  EXPECT_EQ(runs[0].report.predicted_seconds, runs[1].report.predicted_seconds);
  EXPECT_GT(runs[0].report.drafted_steps, 0);
}

TEST(Speculator, OneThatAnswersLateIsPaused) {
  const std::vector<TokenId> text = Counting(200);
  CostProfile costs;
  for (const int rows : {1, 16}) costs.AddPass({.rows = rows}, 0.0001);
  costs.AddHead(1, 0.00001);
  TickingClock clock(1000);
  const Replayed late = Replay(std::make_unique<SlowDrafter>(text, /*nanos=*/5'000'000, clock), costs, text, 0.0001, &clock);
  EXPECT_GT(late.report.sources[0].pauses, 0);
  EXPECT_LE(late.report.sources[0].account.calls, 8);
  EXPECT_GT(late.report.paused_steps, 50);
}

TEST(Speculator, NothingIsDraftedBeforeAPlainStepIsMeasured) {
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {});
  speculator.Begin({{1, 2, 3, 4, 1, 2}});
  EXPECT_EQ(speculator.Propose({.rows = 9, .depth = 9}).size(), 1);
  const StepTime time = {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001};
  LearnStep({}, time, speculator.costs());
  speculator.Commit(TokenTree(2), {.path = {0}, .emitted = {3}}, time);
  EXPECT_GT(speculator.Propose({.rows = 9, .depth = 9}).size(), 1);
}

TEST(Speculator, RejectedRowsTeachOnlyWhereTheirLogitsCostLittle) {
  const std::vector<TokenId> text = Counting(50);
  for (const double pass : {0.006, 1.0}) {   // In memory, and streamed.
    CostProfile costs;
    for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddPass({.rows = rows}, pass);
    for (const int rows : {1, 16, 1, 16, 1, 16}) costs.AddHead(rows, 0.001 * rows);
    costs.Freeze();
    Speculator speculator(std::make_unique<Learner>(text), {.costs = &costs});
    speculator.Begin({text.data(), 1});
    const TokenTree tree = speculator.Propose({.rows = 16, .depth = 50});
    EXPECT_EQ(tree.size(), 16);
    EXPECT_EQ(speculator.logits_plan().top, 4);
    EXPECT_EQ(speculator.logits_plan().first_rows, pass > 0.5 ? 16 : 1);
  }
}

TEST(Speculator, APromptThatComesInPartsTakesNoMoreMemoryThanWasSaid) {
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {});
  const int64_t empty = speculator.bytes();
  int tokens = 0;
  for (const int part : {700, 1, 300, 40}) {
    speculator.LearnPrompt(tokens, std::vector<TopTokens>(part));
    tokens += part;
    EXPECT_GT(speculator.bytes(), empty);
    EXPECT_LE(speculator.bytes() - empty, Speculator::MostPromptBytes(tokens));
  }
  speculator.Begin(std::vector<TokenId>(tokens, 1));
  EXPECT_LT(speculator.bytes() - empty, Speculator::MostPromptBytes(tokens) / 2) << "it is the drafters' now";
}

// Drafts the same token each time, with a probability that the test sets.
class Sayer : public Drafter {
 public:
  Sayer(int& asked, float& probability) : asked_(asked), probability_(probability) {}
  absl::string_view name() const override { return "sayer"; }
  void Begin(absl::Span<const TokenId> text) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    ++asked_;
    tree.Add(TokenTree::kRoot, 7, probability_);
    return absl::OkStatus();
  }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {}
  int64_t bytes() const override { return 0; }

 private:
  int& asked_;
  float& probability_;
};

TEST(Speculator, ADrafterNotWorthARowForLongIsAskedSeldom) {
  CostProfile costs;
  for (const int rows : {1, 16}) {
    costs.AddPass({.rows = rows}, 0.004 + 0.0005 * (rows - 1));
    costs.AddHead(rows, 0.001);
  }
  costs.Freeze();
  int asked = 0;
  float probability = 0.01f;
  Speculator speculator(std::make_unique<Sayer>(asked, probability), {.costs = &costs});
  const auto step = [&](TokenId next) {
    const TokenTree tree = speculator.Propose({.rows = 16, .depth = 16});
    speculator.Commit(tree, {.path = {0}, .emitted = {next}}, {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001});
    return tree.size();
  };
  speculator.Begin({{1, 2}});
  for (int i = 0; i < 16; ++i) EXPECT_EQ(step(3), 1);
  EXPECT_EQ(asked, 16);
  for (int i = 0; i < 28; ++i) EXPECT_EQ(step(3), 1);
  EXPECT_EQ(asked, 16 + 5) << "after rests of 1, 2, 4, 8 and 8 steps";
  EXPECT_EQ(speculator.report().rested_steps, 23);
  EXPECT_EQ(speculator.report().paused_steps, 23);
  EXPECT_EQ(speculator.report().Pauses(), "all: rested for 23 of 44 passes (what they drafted was not worth its rows and their time)");

  speculator.Begin({{1, 2}});
  EXPECT_EQ(step(3), 1);
  EXPECT_EQ(asked, 22) << "another text is another chance";
  for (int i = 0; i < 40; ++i) step(3);
  probability = 0.99f;
  int steps = 0;
  while (step(7) == 1 && steps < 100) ++steps;
  EXPECT_LE(steps, 8) << "what is worth a row is found soon";
}

}  // namespace
}  // namespace tessera
