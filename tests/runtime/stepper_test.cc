// Many texts in one pass: each is what it is alone, whatever company it has.
#include "tessera/runtime/stepper.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/runtime/decode_loop.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> SmallEngine(int context = 256, int rows = 32) {
  return TinyEngine({.layers = 2, .writes_letters = true},
                    {.compute = {.threads = 2, .row_capacity = rows}, .cache = {.context = context}});
}

// The text that a session alone writes, in an engine of its own: a stepper's beginnings may fill the cache of the other.
Generation Alone(const StreamOptions& options) {
  const auto engine = SmallEngine();
  const auto session = Must(engine->NewSession());
  Must(session->Append(options.prompt));
  GenerateOptions text = options.text;
  text.speculator = nullptr;
  return Must(Generate(*session, Must(Sampler::Create(options.sampling)), text));
}

struct Answers {
  std::map<int, Generation> texts;
  std::map<int, absl::Status> errors;
  std::function<void(const absl::StatusOr<Generation>&)> Keep(int number) {
    return [this, number](const absl::StatusOr<Generation>& result) {
      EXPECT_TRUE(texts.count(number) + errors.count(number) == 0) << "ended twice: " << number;
      if (result.ok()) texts[number] = *result;
      else errors[number] = result.status();
    };
  }
};

StreamOptions TextNumber(int number, int tokens = 20) {
  return {.prompt = RandomTokens(5 + 7 * number % 40, number),
          .sampling = {.temperature = number % 2 == 0 ? 0.0f : 0.8f, .seed = static_cast<uint64_t>(number)},
          .text = {.max_tokens = tokens, .ignore_end = true}};
}

void ExpectAsAlone(int texts, Stepper& stepper, Answers& answers) {
  for (int number = 0; number < texts; ++number) {
    StreamOptions options = TextNumber(number);
    options.on_end = answers.Keep(number);
    stepper.Submit(std::move(options));
  }
  Must(stepper.Run());
  ASSERT_EQ(answers.texts.size(), static_cast<size_t>(texts));
  for (int number = 0; number < texts; ++number) {
    const Generation alone = Alone(TextNumber(number));
    EXPECT_EQ(answers.texts[number].tokens, alone.tokens) << number;
    EXPECT_EQ(answers.texts[number].text, alone.text) << number;
    EXPECT_EQ(answers.texts[number].reason, alone.reason) << number;
  }
}

TEST(Stepper, HeaderExample) {
  struct Question { std::vector<TokenId> tokens; };
  const std::vector<Question> questions = {{{1, 2, 3}}, {{4, 5}}};
  int shown = 0;
  const auto Show = [&](const absl::StatusOr<Generation>& answer) { shown += answer.ok() ? 1 : 0; };
  const auto engine = SmallEngine();
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Stepper> stepper, Stepper::Create(*engine, {}));
    for (const Question& question : questions) {
      stepper->Submit({.prompt = question.tokens, .text = {.max_tokens = 64}, .on_end = [&](auto& answer) { Show(answer); }});
    }
    RETURN_IF_ERROR(stepper->Run());
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(shown, 2);
}

TEST(Stepper, EachTextIsWhatItIsAlone) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  ExpectAsAlone(4, *stepper, answers);
  EXPECT_EQ(stepper->report().most_texts, 4);
  EXPECT_EQ(stepper->report().set_back, 0);
  EXPECT_LT(stepper->report().passes, 40) << "one pass for all";
}

TEST(Stepper, MoreTextsThanTheCacheHoldsWaitTheirTurn) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  ExpectAsAlone(12, *stepper, answers);
  EXPECT_GT(stepper->report().waited, 0);
}

TEST(Stepper, TextsThatFillTheCacheTogetherAreSetBackAndLoseNothing) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  for (int number = 0; number < 4; ++number) {
    StreamOptions options = TextNumber(0, /*tokens=*/60);
    options.prompt = RandomTokens(6, 100 + number);
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_GT(stepper->report().set_back, 0);
  for (int number = 0; number < 4; ++number) {
    StreamOptions options = TextNumber(0, 60);
    options.prompt = RandomTokens(6, 100 + number);
    EXPECT_EQ(answers.texts[number].tokens, Alone(options).tokens) << number;
  }
}

TEST(Stepper, DraftsChangeNoText) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  std::vector<std::unique_ptr<Speculator>> speculators;
  for (int number = 0; number < 4; ++number) {
    StreamOptions options = TextNumber(number);
    speculators.push_back(std::make_unique<Speculator>(
        number % 2 == 0 ? std::unique_ptr<Drafter>(std::make_unique<RandomDrafter>(256, number))
                        : std::make_unique<ScriptedDrafter>(Alone(TextNumber(number)).tokens),
        Speculator::Options{.max_rows = 6, .weigh_costs = false}));
    options.text.speculator = speculators.back().get();
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  for (int number = 0; number < 4; ++number) EXPECT_EQ(answers.texts[number].tokens, Alone(TextNumber(number)).tokens) << number;
  EXPECT_LT(answers.texts[1].passes, 10) << "an oracle's draft is accepted";
}

TEST(Stepper, ABeginningIsComputedOnce) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  const std::vector<TokenId> shared = RandomTokens(60, 77);
  for (int number = 0; number < 6; ++number) {
    StreamOptions options = TextNumber(number);
    options.prompt = shared;
    options.prompt.push_back(number);
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_EQ(stepper->report().shared_tokens, 5 * 60);
  for (int number = 0; number < 6; ++number) {
    StreamOptions options = TextNumber(number);
    options.prompt = shared;
    options.prompt.push_back(number);
    EXPECT_EQ(answers.texts[number].tokens, Alone(options).tokens) << number;
  }
}

TEST(Stepper, WhatIsWrongWithATextEndsItAlone) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  StreamOptions wrong = TextNumber(1), longer = TextNumber(2), right = TextNumber(3);
  wrong.prompt = {-1};
  longer.prompt = RandomTokens(257, 1);
  StreamOptions* const all[] = {&wrong, &longer, &right};
  for (int i = 0; i < 3; ++i) {
    all[i]->on_end = answers.Keep(i);
    stepper->Submit(std::move(*all[i]));
  }
  Must(stepper->Run());
  EXPECT_EQ(answers.errors[0].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answers.errors[1].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(answers.texts[2].tokens, Alone(TextNumber(3)).tokens);
}

TEST(Stepper, ACancelledTextEndsAndTheOthersGoOn) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  StreamOptions first = TextNumber(1), second = TextNumber(2);
  StreamId id = 0;
  int tokens = 0;
  first.text.on_token = [&](TokenId, absl::Span<const float>) {
    if (++tokens == 5) stepper->Cancel(id);
  };
  first.on_end = answers.Keep(1);
  second.on_end = answers.Keep(2);
  id = stepper->Submit(std::move(first));
  stepper->Submit(std::move(second));
  Must(stepper->Run());
  EXPECT_EQ(answers.texts[1].reason, FinishReason::kCancelled);
  EXPECT_LT(answers.texts[1].tokens.size(), 8u);
  EXPECT_EQ(answers.texts[2].tokens, Alone(TextNumber(2)).tokens);
}

TEST(Stepper, AFullContextEndsATextAsItDoesAlone) {
  const auto engine = SmallEngine(/*context=*/64);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  StreamOptions options = TextNumber(1, /*tokens=*/0);
  options.on_end = answers.Keep(1);
  const size_t prompt = options.prompt.size();
  stepper->Submit(std::move(options));
  Must(stepper->Run());
  EXPECT_EQ(answers.texts[1].reason, FinishReason::kContextFull);
  EXPECT_EQ(answers.texts[1].tokens.size(), 64 - prompt + 1);
}

}  // namespace
}  // namespace tessera
