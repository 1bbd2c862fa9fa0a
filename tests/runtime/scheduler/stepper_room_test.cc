// A stepper beside sessions and other steppers of its engine: who finds room in the cache, and what is said where there is none.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/small_texts.h"

namespace tessera {
namespace {

// A session of so many tokens.
std::unique_ptr<Session> Holding(Engine& engine, int tokens) {
  std::unique_ptr<Session> session = Must(engine.NewSession());
  Must(session->Append(RandomTokens(tokens, 5)));
  return session;
}

absl::Status ErrorOf(Engine& engine, StreamOptions options, int* tokens = nullptr) {
  const auto stepper = Must(Stepper::Create(engine, {}));
  Answers answers;
  options.on_end = answers.Keep(0);
  if (tokens != nullptr) options.text.on_token = [=](TokenId, absl::Span<const float>) { ++*tokens; };
  stepper->Submit(std::move(options));
  Must(stepper->Run());
  EXPECT_EQ(answers.texts.size(), 0u);
  return answers.errors[0];
}

TEST(StepperRoom, APromptThatFindsNoRoomBesideSessionsIsAnError) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto session = Holding(*engine, 80);
  const absl::Status error = ErrorOf(*engine, {.prompt = RandomTokens(33, 1)});
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "stream: found room for 16 tokens in the cache beside other sessions of the engine, expected for 33");
  EXPECT_EQ(LimitOf(error), "cache_tokens");
}

TEST(StepperRoom, ATextWhoseContextIsNotFullDoesNotEndAsContextFull) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto session = Holding(*engine, 80);
  int tokens = 0;
  StreamOptions options = TextNumber(0, /*tokens=*/0);
  options.prompt = RandomTokens(6, 1);
  const absl::Status error = ErrorOf(*engine, std::move(options), &tokens);
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "stream: found room for 16 tokens in the cache beside other sessions of the engine, expected for 17");
  EXPECT_EQ(tokens, 11);
}

// The cache is full of prefixes when the stepper has nothing to do.
std::unique_ptr<Stepper> WithPrefixes(Engine& engine) {
  auto stepper = Must(Stepper::Create(engine, {}));
  for (int number = 0; number < 8; ++number) {
    StreamOptions options = TextNumber(number, /*tokens=*/16);
    options.prompt = RandomTokens(10, 100 + number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_LT(CoreOf(engine).cache().free_slots(), 32);
  return stepper;
}

TEST(StepperRoom, PrefixesGiveWayToASession) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = WithPrefixes(*engine);
  const std::vector<TokenId> tokens = RandomTokens(70, 5);
  const auto session = Must(engine->NewSession());
  Must(session->Append(tokens));
  const auto fresh = SmallEngine();
  const auto alone = Must(fresh->NewSession());
  Must(alone->Append(tokens));
  EXPECT_EQ(session->logits(), alone->logits());
  EXPECT_EQ(Must(stepper->Step()), false);
}

TEST(StepperRoom, PrefixesGiveWayToADraft) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto session = Holding(*engine, 20);
  const auto stepper = WithPrefixes(*engine);
  EXPECT_EQ(session->TreeRoom(), 32);
  TokenTree tree(1);
  while (tree.size() < 32) tree.Add(tree.size() - 1, 2, 0.5f);
  Must(session->PassTree(tree));
  session->Keep({}, {});
}

TEST(StepperRoom, PrefixesGiveWayToAnotherStepper) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto first = WithPrefixes(*engine);
  const auto second = Must(Stepper::Create(*engine, {}));
  for (const auto& stepper : {first.get(), second.get(), first.get()}) {
    Answers answers;
    StreamOptions options = TextNumber(0, /*tokens=*/30);
    options.prompt = RandomTokens(60, 9);
    options.on_end = answers.Keep(0);
    StreamOptions expected = options;
    stepper->Submit(std::move(options));
    Must(stepper->Run());
    expected.on_end = nullptr;
    EXPECT_EQ(answers.texts[0].tokens, Alone(expected).tokens);
  }
}

TEST(StepperRoom, PrefixesOfAnEndedStepperGiveWay) {
  const auto engine = SmallEngine(/*context=*/96);
  WithPrefixes(*engine).reset();
  Holding(*engine, 96);
}

}  // namespace
}  // namespace tessera
