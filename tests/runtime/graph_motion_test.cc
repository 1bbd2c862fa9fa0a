#include "tessera/runtime/graph_motion.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/measure_switching.h"
#include "tessera/runtime/session.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

// Logits after a prompt, and after each of some further tokens.
std::vector<std::vector<float>> LogitsOf(Engine& engine, const std::vector<TokenId>& prompt) {
  const std::unique_ptr<Session> session = Must(engine.NewSession());
  std::vector<std::vector<float>> logits;
  Must(session->Append(prompt));
  logits.emplace_back(session->logits().begin(), session->logits().end());
  for (const TokenId token : {3, 200, 77}) {
    Must(session->Append({token}));
    logits.emplace_back(session->logits().begin(), session->logits().end());
  }
  return logits;
}

constexpr SwitchRule kRules[] = {SwitchRule::kPadded, SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished,
                                 SwitchRule::kPlanned};

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
  for (const SwitchRule rule : kRules) {
    for (const double load : {1.0, 1e5}) {
      SwitchingPhone phone(rule, load);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule) << " again, with the graphs as they are";
      Must(phone.motion().BeginReturn());
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << static_cast<int>(rule) << " after the way back";
    }
  }
}

// What the phone's memory holds at most: one graph of each block, and the last layer's keys and values.
TEST(GraphMotion, ABlockNeverHasTwoGraphs) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  for (const SwitchRule rule : kRules) {
    SwitchingPhone phone(rule);
    LogitsOf(*phone.engine, prompt);
    const MotionReport& report = phone.motion().report();
    EXPECT_EQ(report.switched_in_prompt + report.switched_after, rule == SwitchRule::kPadded ? 0 : 3) << static_cast<int>(rule);
  }
}

// Seconds from the prompt's arrival until it is read and all blocks have their decode graphs.
double SecondsOfPrompt(SwitchRule rule, double load, int tokens) {
  SwitchingPhone phone(rule, load);
  const double begin = phone.Seconds();
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  Must(session->Append(RandomTokens(tokens, 9)));
  Must(session->Append({5}));   // Its pass waits for all decode graphs.
  return phone.Seconds() - begin;
}

TEST(GraphMotion, SwitchingWhileAPromptIsReadIsSoonerThanAfterIt) {
  // Loads as long as some blocks' compute: the published rule's case.
  for (const double load : {300.0, 1000.0, 3000.0}) {
    const double synchronous = SecondsOfPrompt(SwitchRule::kSynchronous, load, 96);
    const double planned = SecondsOfPrompt(SwitchRule::kPlanned, load, 96);
    EXPECT_LT(planned, synchronous) << load;
    EXPECT_LE(planned, SecondsOfPrompt(SwitchRule::kPublished, load, 96) * 1.05) << load;
    EXPECT_LE(planned, SecondsOfPrompt(SwitchRule::kNaive, load, 96) * 1.05) << load;
  }
}

TEST(GraphMotion, TimeIsWhatThePlanSays) {
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
