// Graphs that hold their weights, read from a packed file as they are loaded: the same bits by each rule, never more memory than planned,
// and a read that fails ends one request.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/runtime/engine/switching/prepare_switching.h"
#include "tessera/tests/fakes/reading_host.h"
#include "tessera/tests/fakes/stepper_texts.h"

namespace tessera {
namespace {

std::string NameOf(std::optional<SwitchRule> rule) { return rule.has_value() ? std::string(SwitchRuleName(*rule)) : "none"; }

std::vector<std::optional<SwitchRule>> RulesAndNone() {
  std::vector<std::optional<SwitchRule>> rules(std::begin(kSwitchRules), std::end(kSwitchRules));
  rules.push_back(std::nullopt);
  return rules;
}

void ExpectWithinPlan(const ReadingHost& host) {
  EXPECT_LE(host.device().most_held_bytes(), host.device().memory_bytes());
  EXPECT_EQ(host.engine->memory().weights, Must(host.engine->planner().Plan()).weights);
}

TEST(ReadingGraphs, BitsEqualWeightsInMemoryByEachRule) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  const std::vector<std::vector<float>> expected = LogitsOf(*ResidentEngine(), prompt);
  for (const std::optional<SwitchRule> rule : RulesAndNone()) {
    SCOPED_TRACE(NameOf(rule));
    ReadingHost host(rule);
    EXPECT_EQ(LogitsOf(*host.engine, prompt), expected);
    EXPECT_EQ(LogitsOf(*host.engine, prompt), expected) << "again, with the graphs as they are";
    if (rule.has_value()) {
      const int64_t loads = host.device().stats().loads;
      const MotionReport report = host.motion().report();
      EXPECT_EQ(report.switched_in_prompt + report.switched_after - report.returned, rule == SwitchRule::kPadded ? 0 : 3);
      Must(host.motion().BeginReturn());
      EXPECT_EQ(LogitsOf(*host.engine, prompt), expected) << "after the way back";
      EXPECT_EQ(host.device().stats().loads > loads, rule != SwitchRule::kPadded) << "each change of graphs is a read";
    }
    ExpectWithinPlan(host);
  }
}

TEST(ReadingGraphs, BitsAreTheSameFromMixedStartingGraphs) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  const std::vector<std::vector<float>> expected = LogitsOf(*ResidentEngine(), prompt);
  for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished, SwitchRule::kPlanned}) {
    for (int kept = 0; kept < 8; ++kept) {
      ReadingHost host(rule);
      Must(host.motion().SetGraphs({(kept & 1) != 0, (kept & 2) != 0, (kept & 4) != 0}));
      EXPECT_EQ(LogitsOf(*host.engine, prompt), expected) << SwitchRuleName(rule) << " " << kept;
      ExpectWithinPlan(host);
    }
  }
}

// Any texts, longer and shorter again, and any graphs, whose loads are dropped and begun again while they are read.
TEST(ReadingGraphs, RandomProgramsHaveTheBitsOfWeightsInMemory) {
  const std::unique_ptr<Engine> resident = ResidentEngine();
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SeededRandom random(seed);
    ReadingHost host(kSwitchRules[seed % std::size(kSwitchRules)]);
    const std::unique_ptr<Session> session = Must(host.engine->NewSession()), expected = Must(resident->NewSession());
    for (int step = 0; step < 25; ++step) {
      SCOPED_TRACE(std::to_string(seed) + " " + std::to_string(step));
      const int kind = static_cast<int>(random.Below(5));
      if (kind == 0) Must(host.motion().SetGraphs({random.Below(2) == 0, random.Below(2) == 0, random.Below(2) == 0}));
      if (kind == 1) Must(host.motion().BeginReturn());
      if (kind == 2) Must(host.motion().SwitchAll());
      if (session->length() > 60) {
        const int length = static_cast<int>(random.Below(60));
        session->Truncate(length);
        expected->Truncate(length);
      }
      const std::vector<TokenId> tokens = RandomTokens(1 + static_cast<int>(random.Below(kind == 3 ? 60 : 6)), 100 * seed + step);
      Must(session->Append(tokens));
      Must(expected->Append(tokens));
      ASSERT_EQ(session->logits(), expected->logits());
    }
    ExpectWithinPlan(host);
  }
}

TEST(ReadingGraphs, TextsOfAStepperAreTheSame) {
  const std::unique_ptr<Engine> resident = ResidentEngine();
  for (const bool at_once : {false, true}) {
    const std::vector<std::vector<TokenId>> expected = WriteTexts(*resident, {50, 33}, at_once);
    for (const std::optional<SwitchRule> rule : RulesAndNone()) {
      ReadingHost host(rule);
      EXPECT_EQ(WriteTexts(*host.engine, {50, 33}, at_once), expected) << NameOf(rule);
      ExpectWithinPlan(host);
    }
  }
}

// Each read of a prompt in turn: a request that needs what cannot be read fails, and no later one, where the disk is as it was again.
TEST(ReadingGraphs, AReadThatFailsEndsOneRequestAtMost) {
  const std::vector<TokenId> prompt = RandomTokens(40, 4);
  const std::vector<std::vector<float>> expected = LogitsOf(*ResidentEngine(), prompt);
  for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPlanned}) {
    int failures = 0;
    for (int read = 0; read <= kLayers; ++read) {   // One for each layer, and for the last one's keys and values.
      SCOPED_TRACE(NameOf(rule) + " " + std::to_string(read));
      ReadingHost host(rule);
      host.breaker.BreakReadFromNow(read);
      const absl::StatusOr<std::vector<std::vector<float>>> found = TryLogitsOf(*host.engine, prompt);
      host.engine->AwaitWeights().IgnoreError();   // A load that nobody has needed yet may be the one that fails.
      host.breaker.Repair();
      if (found.ok()) {
        EXPECT_EQ(*found, expected);
      } else {
        ++failures;
        EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable) << found.status();
        for (const std::string& named : {ReadingModel().packed(), std::string(": unit "), std::string("Input/output error")}) {
          EXPECT_TRUE(absl::StrContains(found.status().message(), named)) << named << " in " << found.status();
        }
      }
      EXPECT_EQ(LogitsOf(*host.engine, prompt), expected);
      ExpectWithinPlan(host);
    }
    EXPECT_GE(failures, kLayers) << "but perhaps for the last layer's keys and values, which decoding does not need";
  }
}

TEST(ReadingGraphs, OfAStepperTheTextThatNeededTheGraphEnds) {
  ReadingHost host(SwitchRule::kSynchronous);
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(*host.engine, {}));
  std::vector<absl::Status> ended;
  const auto submit = [&] {
    stepper->Submit({.prompt = RandomTokens(50, 4), .text = {.max_tokens = 4}, .on_end = [&](const absl::StatusOr<Generation>& result) {
                       ended.push_back(result.status());
                     }});
    Must(stepper->Run());
  };
  host.breaker.BreakReadFromNow(2);
  submit();
  host.breaker.Repair();
  submit();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].code(), absl::StatusCode::kUnavailable) << ended[0];
  EXPECT_TRUE(ended[1].ok()) << ended[1];
}

TEST(ReadingGraphs, AnEngineWhoseWeightsCannotBeReadIsRefused) {
  EngineOptions options = ReadingHost::OptionsOf(SwitchRule::kPlanned);
  Breaker breaker;
  options.hooks = Hooks({.wrap_device = [&](std::unique_ptr<BlockDevice> below) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<BreakableDevice>(std::move(below), breaker);
  }});
  breaker.BreakReadFromNow(4);
  EXPECT_EQ(Engine::Load(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ReadingGraphs, AReadUnderWayAtTheEndOfTheEngineIsAbandoned) {
  for (int i = 0; i < 10; ++i) {
    ReadingHost host(SwitchRule::kPlanned);
    Must(host.motion().SwitchAll());
    if (i % 2 == 0) Must(host.motion().BeginReturn());
  }
}

TEST(ReadingGraphs, MemoryIsOneGraphOfEachBlockAndTwiceThatWithoutSwitching) {
  const auto weights_of = [](std::optional<SwitchRule> rule) {
    return Must(Must(Engine::Open(ReadingHost::OptionsOf(rule)))->planner().Plan()).weights;
  };
  const ReadingHost switched(SwitchRule::kPlanned), both(std::nullopt);
  const int64_t rest = weights_of(SwitchRule::kPlanned) - switched.device().memory_bytes();
  EXPECT_EQ(weights_of(std::nullopt), rest + 2 * switched.device().memory_bytes());
  EXPECT_EQ(both.device().most_held_bytes(), 2 * switched.device().memory_bytes());
  EXPECT_LT(switched.device().memory_bytes(), switched.engine->model().layout().TotalBytes() * 5 / 4);
}

TEST(ReadingGraphs, ABudgetHasRoomForThemOrIsRefused) {
  EngineOptions options = ReadingHost::OptionsOf(SwitchRule::kPlanned);
  const std::unique_ptr<Engine> opened = Must(Engine::Open(options));
  const BudgetPlan plan = Must(opened->planner().PlanBudget(int64_t{1} << 40));
  EXPECT_EQ(plan.memory.weights, Must(opened->planner().Plan()).weights);
  EXPECT_EQ(plan.weights.pass_bytes, 0) << "passes stream nothing";
  const absl::Status refused = opened->planner().PlanBudget(plan.Total() - plan.reserve - plan.memory.weights).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  options.streaming.memory_budget = plan.least + (int64_t{8} << 20);   // This process has more and more of its own.
  const std::vector<TokenId> prompt = RandomTokens(40, 4);
  EXPECT_EQ(LogitsOf(*ReadingHost(options).engine, prompt), LogitsOf(*ResidentEngine(), prompt));
}

TEST(ReadingGraphs, OnlyAPackedModelHasThem) {
  EngineOptions options = ReadingHost::OptionsOf(SwitchRule::kPlanned);
  options.model_path = ReadingModel().gguf();
  const absl::Status refused = Engine::Open(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(refused.message(), "found a GGUF file, expected a packed model")) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "tessera_pack MODEL.gguf MODEL.tsr")) << refused;
}

// On the real clock. Neither the timeline nor what was waited for has the warm-up.
TEST(ReadingGraphs, AWarmUpMeasuresAndChoosesAndLoadsAreOnTheTimeline) {
  const TemporaryFolder folder;
  Timeline timeline({.capacity = 1 << 14});
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  const std::vector<std::vector<float>> expected = LogitsOf(*ResidentEngine(), prompt);
  for (const bool measured : {true, false}) {
    SwitchReady ready;
    EngineOptions options = ReadingHost::OptionsOf(SwitchRule::kPlanned, 1);
    options.timeline = &timeline;
    options.compute.warm_up = SwitchWarmUp{
        .path = folder.Path("switch.json"),
        .device = "host:unshared",
        .question = {.prefill_rows = {kPrefillRows}, .decode_rows = {kDecodeRows}, .prompt_tokens = 75, .pass_rows = kDecodeRows},
        .on_ready = [&ready](const SwitchReady& told) { ready = told; }};
    ReadingHost host(options);
    EXPECT_EQ(ready.measured, measured);
    EXPECT_TRUE(ready.profile.ok()) << ready.profile;
    EXPECT_EQ(host.motion().ends(), ready.choice.ends);
    for (const SwitchTimes& times : ready.choice.times) EXPECT_GT(times.load_seconds, 0);
    const auto loads = [&] {
      const std::vector<TimelineEvent> events = timeline.Events();
      return std::count_if(events.begin(), events.end(), [](const TimelineEvent& event) {
        return event.zone == Zone::kLoad && event.resource == Resource::kFlash;
      });
    };
    const auto before = loads();
    const int64_t all = host.device().stats().loads;
    EXPECT_EQ(LogitsOf(*host.engine, prompt), expected);
    Must(host.engine->AwaitWeights());
    EXPECT_EQ(loads() - before, host.device().stats().loads - all);
    EXPECT_GT(loads(), before);
  }
}

}  // namespace
}  // namespace tessera
