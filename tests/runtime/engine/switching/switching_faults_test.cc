// Graphs that change places, where the device fails to load one of them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

constexpr int kLoads = kLayers + 1;   // For a prompt: layers, and the last one's keys and values.

TEST(SwitchingFaults, ALoadThatFailsEndsOneRequest) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished, SwitchRule::kPlanned}) {
    for (int before = 0; before < kLoads; ++before) {
      SCOPED_TRACE(std::string(SwitchRuleName(rule)) + " " + std::to_string(before));
      SwitchingPhone phone(rule);
      phone.meter->FailLoad(before);
      EXPECT_EQ(TryLogitsOf(*phone.engine, prompt).status().code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected);
      Must(phone.motion().BeginReturn());
      EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected) << "after the way back";
      EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
    }
  }
}

TEST(SwitchingFaults, WhileNothingCanBeLoadedRequestsFailAndNothingIsLost) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  SwitchingPhone phone(SwitchRule::kPlanned);
  phone.meter->FailAllLoads(true);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(TryLogitsOf(*phone.engine, prompt).ok());
  phone.meter->FailAllLoads(false);
  EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected);
  EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
}

// A pass may fail before any block of it runs: here the cache is full.
TEST(SwitchingFaults, APromptThatFailsBetweenItsPassesMovesNoMoreGraphs) {
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt), phone(SwitchRule::kPlanned);
  std::unique_ptr<Session> other = Must(phone.engine->NewSession());
  Must(other->Append(RandomTokens(90, 1)));
  {
    const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
    const MotionReport before = phone.motion().report();
    EXPECT_EQ(session->Append(prompt).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(phone.motion().report().prompts, before.prompts + 1) << "it had begun";
    EXPECT_FALSE(phone.motion().in_prompt());
  }
  other = nullptr;
  EXPECT_EQ(LogitsOf(*phone.engine, prompt), LogitsOf(*plain.engine, prompt));
  EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
}

TEST(SwitchingFaults, APromptWhoseLogitsNobodyWantsAnyMoreMovesNoMoreGraphs) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  bool was_in_prompt = false;
  const absl::Status status = session->AppendEach(RandomTokens(40, 4), [&](int, absl::Span<const float>) {
    was_in_prompt = phone.motion().in_prompt();
    return absl::AbortedError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(was_in_prompt) << "passes were still to come";
  EXPECT_FALSE(phone.motion().in_prompt());
}

TEST(SwitchingFaults, OfAStepperTheTextThatNeededTheGraphEnds) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(*phone.engine, {}));
  std::vector<absl::Status> ended;
  const auto submit = [&] {
    stepper->Submit({.prompt = RandomTokens(75, 4), .text = {.max_tokens = 4}, .on_end = [&](const absl::StatusOr<Generation>& result) {
                       ended.push_back(result.status());
                     }});
    Must(stepper->Run());
  };
  phone.meter->FailLoad(0);
  submit();
  submit();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(phone.motion().in_prompt());
  EXPECT_TRUE(ended[1].ok()) << ended[1];
}

}  // namespace
}  // namespace tessera
