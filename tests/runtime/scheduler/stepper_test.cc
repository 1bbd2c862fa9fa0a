// Many texts in one pass: each is what it is alone, whatever company it has.
#include "tessera/runtime/scheduler/stepper.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/small_texts.h"

namespace tessera {
namespace {

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

TEST(Stepper, EachTextEqualsTheTextAlone) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  ExpectAsAlone(4, *stepper, answers);
  EXPECT_EQ(stepper->report().most_texts, 4);
  EXPECT_EQ(stepper->report().preempted, 0);
  EXPECT_LT(stepper->report().passes, 40) << "one pass for all";
}

TEST(Stepper, MoreTextsThanTheCacheHoldsWaitTheirTurn) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  ExpectAsAlone(12, *stepper, answers);
  EXPECT_GT(stepper->report().waited, 0);
}

TEST(Stepper, TextsThatFillTheCacheTogetherArePreemptedAndLoseNothing) {
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
  EXPECT_GT(stepper->report().preempted, 0);
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

TEST(Stepper, APrefixIsComputedOnce) {
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

TEST(Stepper, AnErrorOfATextEndsThatTextAlone) {
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

TEST(Stepper, AFullContextEndsATextLikeATextAlone) {
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

// Its id is known to nobody before it is submitted: here, within a step.
TEST(Stepper, ATextThatIsSubmittedAndCancelledWithinAStepIsCancelled) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  StreamOptions running = TextNumber(2), wrong;
  running.on_end = answers.Keep(2);
  wrong.on_end = [&](const absl::StatusOr<Generation>& ended) {
    EXPECT_FALSE(ended.ok());
    StreamOptions second = TextNumber(1);
    second.on_end = answers.Keep(1);
    stepper->Cancel(stepper->Submit(std::move(second)));
  };
  stepper->Submit(std::move(wrong));
  stepper->Submit(std::move(running));
  Must(stepper->Run());
  EXPECT_EQ(answers.texts[1].reason, FinishReason::kCancelled);
  EXPECT_EQ(answers.texts[1].tokens.size(), 0u);
  EXPECT_EQ(answers.texts[2].tokens, Alone(TextNumber(2)).tokens);
}

// Whether a text was wrong, cancelled or written to its end before.
TEST(Stepper, ATextSubmittedAtTheEndOfAnotherIsWrittenInTheSameRun) {
  for (const int first : {-1, 0, 1}) {
    const auto engine = SmallEngine();
    const auto stepper = Must(Stepper::Create(*engine, {}));
    Answers answers;
    StreamOptions one = first < 0 ? StreamOptions() : TextNumber(1);
    one.on_end = [&](const absl::StatusOr<Generation>&) {
      StreamOptions second = TextNumber(2);
      second.on_end = answers.Keep(2);
      stepper->Submit(std::move(second));
    };
    const StreamId id = stepper->Submit(std::move(one));
    if (first == 0) stepper->Cancel(id);
    Must(stepper->Run());
    EXPECT_EQ(answers.texts[2].tokens, Alone(TextNumber(2)).tokens) << first;
    EXPECT_FALSE(Must(stepper->Step()));
  }
}

// Texts that wait for a beginning, which is computed for another, are not told that there is no room.
TEST(Stepper, PrefixesOfRunningTextsAreSharedWhetherEndedTextsAreKeptOrNot) {
  for (const bool keeps : {false, true}) {
    const auto engine = SmallEngine();
    const auto stepper = Must(Stepper::Create(*engine, {.keeps_prefixes = keeps}));
    Answers answers;
    int told = 0;
    for (int number = 0; number < 6; ++number) {
      StreamOptions options = TextNumber(number);
      options.prompt = RandomTokens(60, 77);
      options.prompt.push_back(number);
      options.on_wait = [&] { ++told; };
      options.on_end = answers.Keep(number);
      stepper->Submit(std::move(options));
    }
    Must(stepper->Run());
    EXPECT_EQ(stepper->report().shared_tokens, 5 * 60);
    EXPECT_EQ(stepper->report().waited, 0);
    EXPECT_EQ(told, 0);
    EXPECT_EQ(answers.texts.size(), 6u);
    const KvCache& cache = CoreOf(*engine).cache();
    EXPECT_EQ(cache.free_slots() == cache.slots(), !keeps);
  }
}

TEST(Stepper, OptionsThatWriteNothingAreRefused) {
  const auto engine = SmallEngine();
  const auto field = [&](const StepperOptions& options) { return FieldOf(Stepper::Create(*engine, options).status()); };
  EXPECT_EQ(field({.most_texts = 0}), "most_texts");
  EXPECT_EQ(field({.most_gap = 0.5}), "most_gap");
  EXPECT_EQ(field({.most_gap = std::numeric_limits<double>::quiet_NaN()}), "most_gap");
  EXPECT_EQ(field({.measure_seconds = -1}), "measure_seconds");
  EXPECT_EQ(Stepper::Create(*engine, {.most_texts = 0}).status().message(), "most_texts: found 0, expected 1 or more");
}

// What it shares it does not need room for.
TEST(Stepper, ATextThatSharesMostOfItsPromptIsLetInBesideTheOther) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  const auto options = [](int number) {
    StreamOptions options = TextNumber(number, /*tokens=*/8);
    options.prompt = RandomTokens(60, 77);
    options.prompt.push_back(number);
    return options;
  };
  for (int number = 0; number < 2; ++number) {
    StreamOptions submitted = options(number);
    submitted.on_end = answers.Keep(number);
    stepper->Submit(std::move(submitted));
  }
  Must(stepper->Run());
  EXPECT_EQ(stepper->report().most_texts, 2);
  EXPECT_EQ(stepper->report().waited, 0);
  for (int number = 0; number < 2; ++number) EXPECT_EQ(answers.texts[number].tokens, Alone(options(number)).tokens);
}

// The layers with windows have slots for a part of the prompt alone.
TEST(Stepper, APromptLongerThanTheWindowsIsReadBesideARunningText) {
  const auto engine = TinyEngine({.architecture = "gemma3", .layers = 7, .context = 256, .window = 6},
                                 {.compute = {.threads = 1, .row_capacity = 16}, .cache = {.context = 256}, .workload = {.sessions = 2}});
  const auto stepper = Must(Stepper::Create(*engine, {.most_gap = 1000}));
  std::vector<int> ended;
  for (int number = 0; number < 2; ++number) {
    stepper->Submit({.prompt = RandomTokens(number == 0 ? 5 : 140, number), .sampling = {.temperature = 0},
                     .text = {.max_tokens = number == 0 ? 60 : 2, .ignore_end = true},
                     .on_end = [&ended, number](const absl::StatusOr<Generation>& result) { if (result.ok()) ended.push_back(number); }});
  }
  Must(stepper->Run());
  EXPECT_EQ(ended, (std::vector<int>{1, 0}));
  EXPECT_EQ(stepper->report().preempted, 0);
}

}  // namespace
}  // namespace tessera
