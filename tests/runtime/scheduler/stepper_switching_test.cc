// A stepper whose prefill and decode graphs change places.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/stepper_texts.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

TEST(StepperSwitching, APromptThatIsReadAloneMovesGraphs) {
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<TokenId>> expected = WriteTexts(*plain.engine, {75, 40, 3}, /*at_once=*/false);
  for (const SwitchRule rule : kSwitchRules) {
    SwitchingPhone phone(rule);
    EXPECT_EQ(WriteTexts(*phone.engine, {75, 40, 3}, /*at_once=*/false), expected) << SwitchRuleName(rule);
    const MotionReport& report = phone.motion().report();
    EXPECT_EQ(report.prompts, 3) << SwitchRuleName(rule);
    const int switched = report.switched_in_prompt + report.switched_after - report.returned;
    EXPECT_EQ(switched, rule == SwitchRule::kPadded ? 0 : 3) << SwitchRuleName(rule);
    EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
  }
}

// As long as one text is there, its prompt takes as long as in a session.
TEST(StepperSwitching, APromptReadAloneTakesAsLongAsInASession) {
  SwitchingPhone one(SwitchRule::kPlanned), other(SwitchRule::kPlanned);
  const auto nanos = [](SwitchingPhone& phone, auto call) {
    const int64_t begin = phone.clock.NowNanos();
    call();
    return phone.clock.NowNanos() - begin;
  };
  const std::vector<TokenId> prompt = RandomTokens(75, 10);
  const int64_t in_session = nanos(one, [&] { Must(Must(one.engine->NewSession())->Append(prompt)); });
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(*other.engine, {}));
  int64_t first_token = 0;
  const int64_t begin = other.clock.NowNanos();
  GenerateOptions text = {.max_tokens = 1};
  text.on_token = [&](TokenId, absl::Span<const float>) { first_token = other.clock.NowNanos() - begin; };
  stepper->Submit({.prompt = prompt, .text = text});
  Must(stepper->Run());
  EXPECT_EQ(first_token, in_session);
  EXPECT_EQ(one.motion().report().switched_in_prompt, other.motion().report().switched_in_prompt);
}

TEST(StepperSwitching, TextsTogetherKeepDecodeGraphs) {
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<TokenId>> expected = WriteTexts(*plain.engine, {40, 33}, /*at_once=*/true);
  for (const SwitchRule rule : kSwitchRules) {
    SwitchingPhone phone(rule);
    EXPECT_EQ(WriteTexts(*phone.engine, {40, 33}, /*at_once=*/true), expected) << SwitchRuleName(rule);
    EXPECT_EQ(phone.motion().report().prompts, 0) << SwitchRuleName(rule);
    for (int block = 0; block < 3; ++block) EXPECT_EQ(phone.motion().IsSwitched(block), rule != SwitchRule::kPadded);
    EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
  }
}

}  // namespace
}  // namespace tessera
