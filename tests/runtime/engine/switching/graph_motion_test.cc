#include "tessera/runtime/engine/switching/graph_motion.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/switching/measure_switching.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

TEST(GraphMotion, HeaderExample) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  EngineCore& core = CoreOf(*phone.engine);
  const std::unique_ptr<GraphMotion> motion = Must(GraphMotion::Create(core.runner(), {.blocks = 2, .prefill_rows = 16, .decode_rows = 4}));
  Must(motion->SetTimes(std::vector<SwitchTimes>(2, {.prefill_seconds = 1, .decode_seconds = 0.5, .load_seconds = 2})));
  Must(motion->BeginPrompt(40));
  Must(motion->EndPrompt());
  EXPECT_EQ(motion->report().switched_in_prompt + motion->report().switched_after, 2);
  Must(motion->BeginReturn());
  EXPECT_FALSE(motion->IsSwitched(0));
}

TEST(GraphMotion, BitsAreTheSameByEachRule) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  for (const SwitchRule rule : kSwitchRules) {
    for (const double load : {1.0, 1e5}) {
      SwitchingPhone phone(rule, load);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule) << " again, with the graphs as they are";
      Must(phone.motion().BeginReturn());
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule) << " after the way back";
    }
  }
}

TEST(GraphMotion, BitsAreTheSameWhereverBlocksEnd) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  for (const std::vector<int>& ends : std::vector<std::vector<int>>{{1, 6}, {5, 6}, {1, 2, 6}, {1, 2, 3, 4, 5, 6}}) {
    SwitchingPhone phone(SwitchRule::kPlanned, 1000, static_cast<int>(ends.size()), std::nullopt, ends);
    EXPECT_EQ(phone.motion().ends(), ends);
    EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << ends.size();
  }
}

// Each beginning: any blocks that have kept their decode graphs.
TEST(GraphMotion, BitsAreTheSameFromMixedStartingGraphs) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished, SwitchRule::kPlanned}) {
    for (int kept = 0; kept < 8; ++kept) {
      SwitchingPhone phone(rule, 100);
      phone.SwitchBlocks(kept);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << SwitchRuleName(rule) << " " << kept;
      for (int block = 0; block < 3; ++block) EXPECT_TRUE(phone.motion().IsSwitched(block)) << SwitchRuleName(rule) << " " << kept;
      EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
    }
  }
}

// Graphs move while the core is held. What is refused may have had some passes, between which the other call came.
TEST(GraphMotion, PromptsAtOnceAreRightOrRefused) {
  const std::vector<TokenId> prompt = RandomTokens(40, 4);
  SwitchingPhone plain(std::nullopt), phone(SwitchRule::kPlanned);
  const std::vector<float> expected = LogitsOf(*plain.engine, prompt)[0];
  const std::unique_ptr<Session> sessions[] = {Must(phone.engine->NewSession()), Must(phone.engine->NewSession())};
  const auto drive = [&](Session& session) {
    for (int i = 0; i < 30; ++i) {
      const absl::Status status = session.Append(prompt);
      if (status.ok()) {
        EXPECT_EQ(session.logits(), absl::MakeConstSpan(expected));
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      }
      session.Truncate(0);
    }
  };
  std::thread other([&] { drive(*sessions[0]); });
  drive(*sessions[1]);
  other.join();
  EXPECT_EQ(LogitsOf(*phone.engine, prompt)[0], expected);
  EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
}

// Where loads take long beside compute, nothing comes back; where they take next to nothing, all do.
TEST(GraphMotion, DecodeGraphsStayUnlessThePrefillGraphsPay) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  for (const auto& [load, returned] : {std::pair(1.0, 0), std::pair(1e9, 3)}) {
    SwitchingPhone phone(SwitchRule::kPlanned, load);
    phone.SwitchBlocks(7);
    Must(Must(phone.engine->NewSession())->Append(prompt));
    EXPECT_EQ(phone.motion().report().returned, returned) << load;
  }
}

TEST(GraphMotion, ABlockNeverHasTwoGraphs) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  for (const SwitchRule rule : kSwitchRules) {
    SwitchingPhone phone(rule);
    LogitsOf(*phone.engine, prompt);
    const MotionReport& report = phone.motion().report();
    EXPECT_EQ(report.switched_in_prompt + report.switched_after, rule == SwitchRule::kPadded ? 0 : 3) << static_cast<int>(rule);
    Must(phone.motion().BeginReturn());
    LogitsOf(*phone.engine, prompt);
    EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine))) << static_cast<int>(rule);
  }
}

// Seconds from the prompt's arrival until it is read and all blocks have their decode graphs.
double SecondsOfPrompt(SwitchRule rule, double load, int tokens) {
  SwitchingPhone phone(rule, load);
  const double begin = phone.Seconds();
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  Must(session->Append(RandomTokens(tokens, 9)));
  while (!CoreOf(*phone.engine).runner().GraphsAreReady(0, kLayers)) phone.clock.Advance(1'000);
  return phone.Seconds() - begin;
}

TEST(GraphMotion, SwitchingDuringAPromptIsSoonerThanAfterwards) {
  // Loads as long as the compute of one block or two, and much shorter ones. Longer ones are ready between steps, where none begins.
  for (const double load : {100.0, 150.0, 500.0, 1500.0}) {
    const double synchronous = SecondsOfPrompt(SwitchRule::kSynchronous, load, 96);
    const double planned = SecondsOfPrompt(SwitchRule::kPlanned, load, 96);
    EXPECT_LT(planned, synchronous) << load;
    EXPECT_LE(planned, SecondsOfPrompt(SwitchRule::kPublished, load, 96) * 1.05) << load;
    EXPECT_LE(planned, SecondsOfPrompt(SwitchRule::kNaive, load, 96) * 1.05) << load;
  }
}

TEST(GraphMotion, TheTimeMatchesThePlan) {
  SwitchingPhone phone(SwitchRule::kPublished, 1000);
  const std::vector<SwitchTimes> times = Must(MeasureSwitchTimes(*phone.engine));
  const SwitchPrompt prompt = {.chunks = 6, .sub_chunks = kPrefillRows / kDecodeRows, .last_sub_chunks = kPrefillRows / kDecodeRows};
  const SwitchPlan plan = Must(PlanSwitch(times, prompt, SwitchRule::kPublished));
  const double expected = Must(SimulateSwitch(times, prompt, plan)).read_seconds;
  const double begin = phone.Seconds();
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  Must(session->Append(RandomTokens(96, 9)));
  // Loads begin with blocks, keys and values of the last layer are of their own, and each pass looks up embeddings.
  EXPECT_NEAR(phone.Seconds() - begin, expected, 0.25 * expected);
}

TEST(GraphMotion, OptionsThatMeanNothingAreRefused) {
  SwitchingPhone phone(std::nullopt);
  const auto error = [&](const SwitchingOptions& options) {
    return std::string(GraphMotion::Create(CoreOf(*phone.engine).runner(), options).status().message());
  };
  EXPECT_EQ(error({.blocks = 7, .prefill_rows = 16, .decode_rows = 4}), "graph switching: blocks: found 7, expected 1 to 6");
  EXPECT_EQ(error({.blocks = 2, .prefill_rows = 0}), "graph switching: rows of a prefill graph: found 0, expected 1 to 16");
  EXPECT_EQ(error({.blocks = 2, .prefill_rows = 8, .decode_rows = 9}), "graph switching: rows of a decode graph: found 9, expected 1 to 8");
  const auto with_ends = [&](const std::vector<int>& ends) {
    return error({.blocks = 2, .prefill_rows = 16, .decode_rows = 4, .ends = ends});
  };
  EXPECT_EQ(with_ends({6}), "graph switching: ends of blocks: found 1, expected 2, one per block");
  EXPECT_EQ(with_ends({0, 6}), "graph switching: end of a block: found 0, expected 1 to 6");
  EXPECT_EQ(with_ends({3, 3}), "graph switching: end of a block: found 3, expected 4 to 6");
  EXPECT_EQ(with_ends({3, 7}), "graph switching: end of a block: found 7, expected 4 to 6");
  EXPECT_EQ(with_ends({3, 5}), "graph switching: end of the last block: found 5, expected 6 to 6");
  const std::unique_ptr<GraphMotion> motion =
      Must(GraphMotion::Create(CoreOf(*phone.engine).runner(), {.blocks = 2, .prefill_rows = 16, .decode_rows = 4}));
  EXPECT_EQ(motion->SetTimes({{}}).message(), "graph switching: times: found 1, expected 2, one per block");
  EXPECT_EQ(motion->BeginPrompt(5).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MeasureSwitchTimes(*phone.engine).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(GraphMotion, TheWayBackIsHiddenWhileNothingIsAsked) {
  SwitchingPhone phone(SwitchRule::kPlanned, 1000);
  const std::vector<TokenId> prompt = RandomTokens(64, 2);
  LogitsOf(*phone.engine, prompt);
  Must(phone.motion().BeginReturn());
  phone.clock.Advance(int64_t{10'000'000'000});   // A user types.
  const double waited = phone.device->spent().waited_seconds, begin = phone.Seconds();
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  Must(session->Append(RandomTokens(16, 3)));
  EXPECT_EQ(phone.device->spent().waited_seconds, waited) << "the first chunk has its prefill graphs";
  EXPECT_GT(phone.Seconds(), begin);
}

}  // namespace
}  // namespace tessera
