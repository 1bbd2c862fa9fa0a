#include "tessera/npu/graph_switch.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/switch_instances.h"

namespace tessera {
namespace {

using Blocks = std::vector<SwitchTimes>;
constexpr SwitchRule kSwitchingRules[] = {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished, SwitchRule::kPlanned};

SwitchPlan PlanOf(const Blocks& blocks, const SwitchPrompt& prompt, SwitchRule rule) {
  absl::StatusOr<SwitchPlan> plan = PlanSwitch(blocks, prompt, rule);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : SwitchPlan{};
}

SwitchOutcome OutcomeOf(const Blocks& blocks, const SwitchPrompt& prompt, const SwitchPlan& plan) {
  absl::StatusOr<SwitchOutcome> outcome = SimulateSwitch(blocks, prompt, plan);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : SwitchOutcome{};
}

SwitchOutcome OutcomeOf(const Blocks& blocks, const SwitchPrompt& prompt, SwitchRule rule) {
  return OutcomeOf(blocks, prompt, PlanOf(blocks, prompt, rule));
}

std::vector<double> BeginsOf(const SwitchOutcome& outcome) {
  std::vector<double> begins;
  for (const PlacedLoad& load : outcome.loads) begins.push_back(load.begin_seconds);
  return begins;
}

TEST(GraphSwitch, HeaderExample) {
  const auto seconds_of = []() -> absl::StatusOr<double> {
    std::vector<SwitchTimes> blocks(6, {.prefill_seconds = 1, .decode_seconds = 0.5, .load_seconds = 2});
    SwitchPrompt prompt = {.chunks = 2, .sub_chunks = 2};
    ASSIGN_OR_RETURN(SwitchPlan plan, PlanSwitch(blocks, prompt, SwitchRule::kPlanned));
    ASSIGN_OR_RETURN(SwitchOutcome outcome, SimulateSwitch(blocks, prompt, plan));
    double seconds = outcome.total_seconds();
    return seconds;
  };
  const absl::StatusOr<double> seconds = seconds_of();
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, 12);
}

TEST(GraphSwitch, TheLeastCoverIsTheFewestBlocksThatHideALoad) {
  EXPECT_EQ(LeastCover(2, {1, 1, 1, 1, 1, 1}), 2);   // The paper's example.
  EXPECT_EQ(LeastCover(2.5, {1, 1, 1}), 3);
  EXPECT_EQ(LeastCover(0, {1, 1}), 1);
  EXPECT_EQ(LeastCover(9, {1, 1}), 2);
  EXPECT_EQ(LeastCover(9, {}), 0);
}

TEST(GraphSwitch, ThePublishedRuleDoesThePapersExample) {
  const Blocks blocks(6, {.prefill_seconds = 1, .decode_seconds = 0.5, .load_seconds = 2});
  const SwitchPrompt prompt = {.chunks = 2, .sub_chunks = 2};
  const SwitchPlan plan = PlanOf(blocks, prompt, SwitchRule::kPublished);
  EXPECT_EQ(plan.loads, (std::vector<SwitchLoad>{{5, 0}, {4, 2}, {3, 4}, {2, 6}, {1, 8}, {0, 10}}));
  const SwitchOutcome outcome = OutcomeOf(blocks, prompt, plan);
  EXPECT_EQ(BeginsOf(outcome), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(outcome.loads[2].end_seconds, outcome.runs[5].end_seconds);   // Half is switched after chunk 1.
  EXPECT_EQ(outcome.waited_seconds, 0);
  EXPECT_EQ(outcome.read_seconds, 12);
  EXPECT_EQ(outcome.switched_seconds, 12);
  std::vector<int> runs;
  for (const SwitchRun& run : outcome.runs) runs.push_back(run.runs);
  EXPECT_EQ(runs, (std::vector<int>{1, 1, 1, 1, 2, 2, 1, 1, 2, 2, 2, 2}));   // Chunk 1 is cut at P5 and P6.
  EXPECT_EQ(OutcomeOf(blocks, prompt, SwitchRule::kSynchronous).total_seconds(), 24);
  EXPECT_EQ(OutcomeOf(blocks, prompt, SwitchRule::kNaive).total_seconds(), 19);
}

TEST(GraphSwitch, EachRuleEndsWhenAHandSaysSo) {
  const Blocks blocks(2, {.prefill_seconds = 1, .decode_seconds = 1, .load_seconds = 1.5});
  const SwitchPrompt prompt = {.chunks = 2, .sub_chunks = 2};
  struct Expected { SwitchRule rule; double read, switched, waited; std::vector<double> begins; };
  for (const Expected& expected : {Expected{SwitchRule::kPadded, 4, 0, 0, {}}, Expected{SwitchRule::kSynchronous, 4, 7, 0, {4, 5.5}},
                                   Expected{SwitchRule::kNaive, 4, 6, 0, {3, 4.5}}, Expected{SwitchRule::kPublished, 9, 5, 2, {0, 3.5}},
                                   Expected{SwitchRule::kPlanned, 5.5, 5, 0.5, {2, 3.5}}}) {
    SCOPED_TRACE(static_cast<int>(expected.rule));
    const SwitchOutcome outcome = OutcomeOf(blocks, prompt, expected.rule);
    EXPECT_EQ(outcome.read_seconds, expected.read);
    EXPECT_EQ(outcome.switched_seconds, expected.switched);
    EXPECT_EQ(outcome.waited_seconds, expected.waited);
    EXPECT_EQ(BeginsOf(outcome), expected.begins);
  }
}

// Some plan, good or bad: any blocks, any number of times.
SwitchPlan RandomPlan(SeededRandom& random, const SwitchInstance& instance) {
  const int blocks = static_cast<int>(instance.blocks.size()), steps = blocks * instance.prompt.chunks;
  SwitchPlan plan = {.from_decode = random.Below(2) == 0};
  for (int64_t i = random.Below(2 * blocks + 1); i > 0; --i) {
    plan.loads.push_back({static_cast<int>(random.Below(blocks)), static_cast<int>(random.Below(steps + 2)) + kBeforePrompt});
  }
  std::sort(plan.loads.begin(), plan.loads.end(), [](const SwitchLoad& a, const SwitchLoad& b) { return a.before < b.before; });
  return plan;
}

TEST(GraphSwitch, NoBlockComputesDuringItsLoadAndNoTimeIsLost) {
  SeededRandom random(1);
  for (int round = 0; round < 1000 && !::testing::Test::HasFailure(); ++round) {
    SwitchInstance instance = RandomSwitchInstance(random, round);
    if (round % 2 == 0) instance.prompt.idle_seconds = 3 * random.Uniform();
    const SwitchPlan plan = RandomPlan(random, instance);
    EXPECT_EQ(SwitchFault(instance, plan, OutcomeOf(instance.blocks, instance.prompt, plan)), "") << "round " << round;
  }
}

TEST(GraphSwitch, ImpossibleOutcomesAreNoticed) {
  const SwitchInstance instance = {Blocks(3, {.prefill_seconds = 1, .decode_seconds = 2, .load_seconds = 1}), {.chunks = 2}};
  const SwitchPlan plan = {.loads = {{0, 1}, {1, 2}, {2, 6}}};
  const SwitchOutcome good = OutcomeOf(instance.blocks, instance.prompt, plan);
  ASSERT_EQ(SwitchFault(instance, plan, good), "");
  EXPECT_NE(SwitchFault(instance, {.loads = {{0, 1}, {1, 2}}}, good), "");
  EXPECT_NE(SwitchFault(instance, {.loads = {{1, 1}, {0, 2}, {2, 6}}}, good), "");
  EXPECT_NE(SwitchFault(instance, {.loads = {{0, 2}, {1, 2}, {2, 6}}}, good), "");
  const auto planted = [&](auto change) {
    SwitchOutcome wrong = good;
    change(wrong);
    return SwitchFault(instance, plan, wrong);
  };
  EXPECT_NE(planted([](SwitchOutcome& o) { o.loads[0].begin_seconds = 0, o.loads[0].end_seconds = 1; }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.loads[1].begin_seconds = 1.5, o.loads[1].end_seconds = 2.5; }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.runs[4].decode_graph = false; }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.runs.pop_back(); }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.runs[2].begin_seconds = 1.5; }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.waited_seconds += 1; }), "");
  EXPECT_NE(planted([](SwitchOutcome& o) { o.switched_seconds += 1; }), "");
}

TEST(GraphSwitch, EveryRuleSwitchesEachBlockOnce) {
  SeededRandom random(2);
  for (int round = 0; round < 100; ++round) {
    const SwitchInstance instance = RandomSwitchInstance(random, round);
    for (const SwitchRule rule : kSwitchingRules) {
      const SwitchPlan plan = PlanOf(instance.blocks, instance.prompt, rule);
      std::vector<int> found, expected(instance.blocks.size());
      for (const SwitchLoad& load : plan.loads) found.push_back(load.block);
      std::sort(found.begin(), found.end());
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(SwitchFault(instance, plan, OutcomeOf(instance.blocks, instance.prompt, plan)), "");
    }
  }
}

// The soonest end of all orders with all begins.
double SoonestOfAllPlans(const SwitchInstance& instance) {
  const int blocks = static_cast<int>(instance.blocks.size()), steps = blocks * instance.prompt.chunks;
  std::vector<int> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  double soonest = std::numeric_limits<double>::infinity();
  do {
    std::vector<int> before(blocks, 0);
    while (true) {
      SwitchPlan plan;
      for (int i = 0; i < blocks; ++i) plan.loads.push_back({order[i], before[i]});
      soonest = std::min(soonest, OutcomeOf(instance.blocks, instance.prompt, plan).total_seconds());
      int i = blocks - 1;
      while (i >= 0 && before[i] == steps) --i;
      if (i < 0) break;
      std::fill(before.begin() + i, before.end(), before[i] + 1);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return soonest;
}

TEST(GraphSwitch, BruteForceIsAsGoodAsTheBestOfAllPlans) {
  SeededRandom random(3);
  for (int round = 0; round < 60; ++round) {
    const SwitchInstance instance = RandomSwitchInstance(random, round, /*most_blocks=*/3, /*most_chunks=*/3);
    EXPECT_NEAR(SoonestSwitch(instance).seconds(), SoonestOfAllPlans(instance), 1e-9) << "round " << round;
  }
}

TEST(GraphSwitch, OursIsWithinFivePercentOfBruteForce) {
  SeededRandom random(4);
  for (int round = 0; round < 400; ++round) {
    const SwitchInstance instance = RandomSwitchInstance(random, round);
    const double best = SoonestSwitch(instance).seconds();
    const double ours = OutcomeOf(instance.blocks, instance.prompt, SwitchRule::kPlanned).total_seconds();
    EXPECT_LE(ours, 1.05 * best) << "round " << round;
    EXPECT_GE(ours, best * (1 - 1e-9)) << "round " << round;
  }
}

TEST(GraphSwitch, OursIsNeverLaterThanAnotherRuleAndTheSameEachTime) {
  SeededRandom random(5);
  for (int round = 0; round < 30; ++round) {
    const SwitchInstance instance = RandomSwitchInstance(random, round, round % 10 == 0 ? 32 : 12, /*most_chunks=*/8);
    const SwitchPlan plan = PlanOf(instance.blocks, instance.prompt, SwitchRule::kPlanned);
    const double ours = OutcomeOf(instance.blocks, instance.prompt, plan).total_seconds();
    for (const SwitchRule rule : kSwitchingRules) EXPECT_LE(ours, OutcomeOf(instance.blocks, instance.prompt, rule).total_seconds());
    EXPECT_EQ(PlanOf(instance.blocks, instance.prompt, SwitchRule::kPlanned).loads, plan.loads);
  }
}

TEST(GraphSwitch, AShortLastChunkTakesFewerSubChunks) {
  const Blocks blocks = {{.prefill_seconds = 4, .decode_seconds = 1, .load_seconds = 1}};
  const auto ours = [&](SwitchPrompt prompt) { return OutcomeOf(blocks, prompt, SwitchRule::kPlanned).total_seconds(); };
  EXPECT_EQ(ours({.sub_chunks = 4}), 5);
  EXPECT_EQ(ours({.sub_chunks = 4, .last_sub_chunks = 1}), 2);   // Loads first, since the prefill graph pads.
  EXPECT_EQ(ours({.sub_chunks = 4, .last_share = 0.25}), 2);
  EXPECT_EQ(ours({.chunks = 2, .sub_chunks = 4, .last_sub_chunks = 1}), 6);
}

TEST(GraphSwitch, APromptWaitsForTheBlocksThatHaveNotReturned) {
  const Blocks blocks(3, {.prefill_seconds = 1, .decode_seconds = 1, .load_seconds = 1, .return_seconds = 2});
  SwitchPlan plan = PlanReturn(3);
  const auto returned = [&](double idle_seconds) {
    return OutcomeOf(blocks, {.sub_chunks = 2, .idle_seconds = idle_seconds}, plan);
  };
  EXPECT_EQ(BeginsOf(returned(6)), (std::vector<double>{-6, -4, -2}));
  EXPECT_EQ(returned(6).read_seconds, 3);
  EXPECT_EQ(returned(6).switched_seconds, 0);
  EXPECT_EQ(returned(3).read_seconds, 4);
  EXPECT_EQ(returned(3).waited_seconds, 1);
  EXPECT_EQ(returned(0).read_seconds, 7);
  EXPECT_EQ(returned(0).waited_seconds, 4);
  plan.loads.clear();   // Nothing returns: all is read in sub-chunks.
  EXPECT_EQ(returned(0).read_seconds, 6);
  EXPECT_EQ(returned(0).waited_seconds, 0);
}

TEST(GraphSwitch, ABlockReturnsAndSwitchesAgainInOnePlan) {
  const SwitchInstance instance = {Blocks(3, {.prefill_seconds = 1, .decode_seconds = 2, .load_seconds = 1, .return_seconds = 1}),
                             {.chunks = 2, .idle_seconds = 1}};
  SwitchPlan plan = PlanReturn(3);
  const SwitchPlan again = PlanOf(instance.blocks, instance.prompt, SwitchRule::kPlanned);
  plan.loads.insert(plan.loads.end(), again.loads.begin(), again.loads.end());
  const SwitchOutcome outcome = OutcomeOf(instance.blocks, instance.prompt, plan);
  EXPECT_EQ(SwitchFault(instance, plan, outcome), "");
  EXPECT_EQ(outcome.loads.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(outcome.loads[i].decode_graph, i >= 3);
}

// Blocks that have their decode graphs keep them, and the others are switched once each.
TEST(GraphSwitch, AMixedStartIsPlannedFromTheGraphsOfBlocks) {
  SeededRandom random(6);
  for (int round = 0; round < 200; ++round) {
    const SwitchInstance instance = RandomSwitchInstance(random, round);
    const int blocks = static_cast<int>(instance.blocks.size()), bits = static_cast<int>(random.Below(int64_t{1} << blocks));
    std::vector<bool> had_decode;
    std::vector<int> expected;
    for (int block = 0; block < blocks; ++block) {
      had_decode.push_back((bits >> block & 1) != 0);
      if (!had_decode.back()) expected.push_back(block);
    }
    const double best = SoonestSwitch(instance, bits).seconds();
    double ours = 0, others = std::numeric_limits<double>::infinity();
    for (const SwitchRule rule : kSwitchingRules) {
      const absl::StatusOr<SwitchPlan> plan = PlanSwitch(instance.blocks, instance.prompt, rule, had_decode);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const SwitchOutcome outcome = OutcomeOf(instance.blocks, instance.prompt, *plan);
      EXPECT_EQ(SwitchFault(instance, *plan, outcome), "") << "round " << round;
      std::vector<int> found;
      for (const SwitchLoad& load : plan->loads) found.push_back(load.block);
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected);
      (rule == SwitchRule::kPlanned ? ours : others) =
          rule == SwitchRule::kPlanned ? outcome.total_seconds() : std::min(others, outcome.total_seconds());
    }
    EXPECT_LE(ours, others) << "round " << round;
    EXPECT_LE(ours, 1.05 * best) << "round " << round;
    EXPECT_GE(ours, best * (1 - 1e-9)) << "round " << round;
  }
}

TEST(GraphSwitch, RulesHaveNames) {
  for (const SwitchRule rule : kSwitchRules) {
    const absl::StatusOr<SwitchRule> found = SwitchRuleFromName(SwitchRuleName(rule));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, rule);
  }
  EXPECT_EQ(SwitchRuleFromName("fast").status().message(),
            "rule of switching: found \"fast\", expected one of padded, synchronous, naive, published, planned");
}

void ExpectRefused(const Blocks& blocks, const SwitchPrompt& prompt, const std::string& says) {
  for (const absl::Status& status :
       {PlanSwitch(blocks, prompt, SwitchRule::kPlanned).status(), SimulateSwitch(blocks, prompt, {}).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << says;
    EXPECT_NE(status.message().find(says), std::string::npos) << status;
  }
}

TEST(GraphSwitch, AnImpossibleQuestionIsRefusedWithTheExpectedRange) {
  const double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const SwitchTimes good = {.prefill_seconds = 1, .decode_seconds = 1, .load_seconds = 1};
  ExpectRefused({}, {}, "blocks: found 0, expected 1 to 64");
  ExpectRefused(Blocks(65, good), {}, "blocks: found 65, expected 1 to 64");
  ExpectRefused({good, {.prefill_seconds = -1}}, {}, "block 1: prefill_seconds: found -1, expected 0 to 1e+09");
  ExpectRefused({{.decode_seconds = nan}}, {}, "block 0: decode_seconds: found nan");
  ExpectRefused({{.load_seconds = infinite}}, {}, "block 0: load_seconds: found inf");
  ExpectRefused({{.return_seconds = 1e300}}, {}, "block 0: return_seconds: found 1e+300");
  ExpectRefused({good}, {.chunks = 0}, "chunks: found 0, expected 1 to 1048576");
  ExpectRefused({good, good}, {.chunks = 1 << 20}, "chunks: found 1048576, expected 1 to 524288");
  ExpectRefused({good}, {.sub_chunks = 0}, "sub_chunks: found 0");
  ExpectRefused({good}, {.sub_chunks = 2, .last_sub_chunks = 3}, "last_sub_chunks: found 3, expected 0 to 2");
  ExpectRefused({good}, {.last_share = 1.5}, "last_share: found 1.5, expected 0 to 1");
  ExpectRefused({good}, {.idle_seconds = -1}, "idle_seconds: found -1");
  for (const SwitchPlan& plan : {SwitchPlan{.loads = {{1, 0}}}, SwitchPlan{.loads = {{-1, 0}}}, SwitchPlan{.loads = {{0, 3}}},
                                 SwitchPlan{.loads = {{0, -2}}}, SwitchPlan{.loads = {{0, 1}, {0, 0}}}}) {
    EXPECT_EQ(SimulateSwitch({good}, {.chunks = 2}, plan).status().code(), absl::StatusCode::kInvalidArgument);
  }
  const std::string two = "had_decode: found 2, expected 1, one per block";
  EXPECT_EQ(PlanSwitch({good}, {}, SwitchRule::kPlanned, {true, false}).status().message(), two);
  EXPECT_EQ(SimulateSwitch({good}, {}, {.had_decode = {true, false}}).status().message(), two);
}

}  // namespace
}  // namespace tessera
