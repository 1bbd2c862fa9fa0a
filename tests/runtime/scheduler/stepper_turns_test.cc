// Whose turn it is: which text gives up its positions, which comes back first, which has rows where there are too few, and what is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/scheduler/text_queue.h"
#include "tessera/tests/fakes/small_texts.h"

namespace tessera {
namespace {

// A text after a prompt of its own, whose number is appended to `ends` when it has ended.
StreamOptions NotingEnd(int number, int prompt, int tokens, std::vector<int>& ends) {
  StreamOptions options = TextNumber(0, tokens);
  options.prompt = RandomTokens(prompt, 100 + number);
  options.on_end = [&ends, number](const absl::StatusOr<Generation>& result) {
    EXPECT_TRUE(result.ok()) << result.status();
    ends.push_back(number);
  };
  return options;
}

TEST(StepperTurns, OfTextsThatFillTheCacheTogetherTheOldestEndsFirst) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  std::vector<int> ends;
  for (int number = 0; number < 2; ++number) stepper->Submit(NotingEnd(number, /*prompt=*/6, /*tokens=*/60, ends));
  Must(stepper->Run());
  EXPECT_GT(stepper->report().preempted, 0);
  EXPECT_EQ(ends, (std::vector<int>{0, 1}));
}

TEST(StepperTurns, APreemptedTextComesBeforeTextsThatWaitedBehind) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {.most_texts = 2}));
  std::vector<int> ends;
  for (int number = 0; number < 4; ++number) stepper->Submit(NotingEnd(number, /*prompt=*/6, /*tokens=*/60, ends));
  Must(stepper->Run());
  EXPECT_GT(stepper->report().preempted, 0);
  EXPECT_EQ(ends, (std::vector<int>{0, 1, 2, 3}));
}

// The older one, which has more to lose, stays.
TEST(StepperTurns, OfTextsWhoseReadersAreBehindTheYoungestGivesUpItsPositions) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  TextQueue outputs[] = {TextQueue(/*most_bytes=*/1), TextQueue(/*most_bytes=*/1)};
  std::vector<int> ends;
  for (int number = 0; number < 2; ++number) {
    StreamOptions behind = NotingEnd(number, /*prompt=*/number == 0 ? 40 : 10, /*tokens=*/3, ends);
    behind.output = &outputs[number];
    stepper->Submit(std::move(behind));
  }
  stepper->Submit(NotingEnd(2, /*prompt=*/25, /*tokens=*/25, ends));
  for (int step = 0; step < 200 && ends.empty(); ++step) Must(stepper->Step().status());
  ASSERT_EQ(ends, std::vector<int>{2});
  EXPECT_EQ(stepper->report().preempted, 1);
  for (bool more = true; more; more = Must(stepper->Step())) {
    for (TextQueue& output : outputs) {
      if (output.full()) output.Read();
    }
  }
  EXPECT_EQ(ends.size(), 3u);
  EXPECT_LT(stepper->report().prompt_rows, 40 + 10 + 25 + 30) << "of those that were set back some 10 are computed again";
}

TEST(StepperTurns, WhereTextsAreMoreThanRowsNoneWaitsForTheEndOfAnother) {
  const auto engine = SmallEngine(/*context=*/256, /*rows=*/2);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  std::vector<int> tokens(3), ends;
  int least_at_first_end = -1;
  for (int number = 0; number < 3; ++number) {
    StreamOptions options = NotingEnd(number, /*prompt=*/1, /*tokens=*/40, ends);
    options.text.on_token = [&tokens, number](TokenId, absl::Span<const float>) { ++tokens[number]; };
    options.on_end = [&](const absl::StatusOr<Generation>&) {
      if (least_at_first_end < 0) least_at_first_end = *std::min_element(tokens.begin(), tokens.end());
    };
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_GT(least_at_first_end, 30);
}

TEST(StepperTurns, ATextThatWaitsIsToldOnce) {
  const auto engine = SmallEngine(/*context=*/96);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  std::vector<int> ends;
  int told = 0;
  stepper->Submit(NotingEnd(0, /*prompt=*/50, /*tokens=*/20, ends));
  StreamOptions waits = NotingEnd(1, /*prompt=*/60, /*tokens=*/3, ends);
  waits.on_wait = [&] { ++told; };
  stepper->Submit(std::move(waits));
  Must(stepper->Run());
  EXPECT_EQ(ends, (std::vector<int>{0, 1}));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(stepper->report().waited, 1);
}

TEST(StepperTurns, AFlagOfItsOwnCancelsATextAndNoOther) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  std::atomic<bool> cancel = false;
  Answers answers;
  for (int number = 0; number < 2; ++number) {
    StreamOptions options = TextNumber(number);
    options.on_end = answers.Keep(number);
    if (number == 0) {
      options.cancel = &cancel;
      options.text.on_token = [&, tokens = 0](TokenId, absl::Span<const float>) mutable { cancel = ++tokens == 5; };
    }
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_EQ(answers.texts[0].reason, FinishReason::kCancelled);
  EXPECT_EQ(answers.texts[0].tokens.size(), 5u);
  EXPECT_EQ(answers.texts[1].tokens, Alone(TextNumber(1)).tokens);
}

TEST(StepperTurns, ATextThatGoesToAQueueIsShownToItsCallerToo) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  TextQueue output(/*most_bytes=*/4096);
  std::string shown;
  Answers answers;
  StreamOptions options = TextNumber(1);
  options.text.on_text = [&](absl::string_view text) { shown.append(text.data(), text.size()); };
  options.output = &output;
  options.on_end = answers.Keep(1);
  stepper->Submit(std::move(options));
  Must(stepper->Run());
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown, answers.texts[1].text);
  EXPECT_EQ(output.Read(), shown);
}

}  // namespace
}  // namespace tessera
