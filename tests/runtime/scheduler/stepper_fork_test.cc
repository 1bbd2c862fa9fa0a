// A text that goes on from another: it is what a text with those tokens as its prompt is, and computes none of them again.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> SmallEngine() {
  return TinyEngine({.layers = 2, .writes_letters = true}, {.compute = {.threads = 2, .row_capacity = 32}, .cache = {.context = 256}});
}

std::vector<TokenId> Alone(std::vector<TokenId> prompt, const SamplingOptions& sampling, const GenerateOptions& text) {
  const auto engine = SmallEngine();
  const auto session = Must(engine->NewSession());
  Must(session->Append(prompt));
  return Must(Generate(*session, Must(Sampler::Create(sampling)), text)).tokens;
}

TEST(StepperFork, GoesOnFromAllThatIsWritten) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  const std::vector<TokenId> prompt = RandomTokens(40, 1);
  const SamplingOptions sampling = {.temperature = 0.8f, .seed = 5};
  const GenerateOptions text = {.max_tokens = 24, .ignore_end = true};
  const GenerateOptions other = {.max_tokens = 10, .stream = 9, .ignore_end = true};
  std::vector<TokenId> written, at_fork, original, forked;
  StreamOptions options = {.prompt = prompt, .sampling = sampling, .text = text};
  StreamId stream = 0;
  options.text.on_token = [&](TokenId token, absl::Span<const float>) {
    written.push_back(token);
    if (written.size() != 8) return;
    at_fork = written;
    stepper->Fork(stream, {.prompt = {7, 8}, .sampling = sampling, .text = other,
                           .on_end = [&](const absl::StatusOr<Generation>& answer) { forked = Must(answer).tokens; }});
  };
  options.on_end = [&](const absl::StatusOr<Generation>& answer) { original = Must(answer).tokens; };
  stream = stepper->Submit(std::move(options));
  Must(stepper->Run());

  std::vector<TokenId> expected_prompt = prompt;
  expected_prompt.insert(expected_prompt.end(), at_fork.begin(), at_fork.end());
  expected_prompt.insert(expected_prompt.end(), {7, 8});
  EXPECT_EQ(original, Alone(prompt, sampling, text));
  EXPECT_EQ(forked, Alone(expected_prompt, sampling, other));
  EXPECT_EQ(stepper->report().shared_tokens, 47) << "all but the token that was chosen last and the two that follow";
  EXPECT_EQ(stepper->report().prompt_rows, 40 + 3);
}

TEST(StepperFork, OfAWaitingTextIsWrittenFromTheSamePrompt) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {.most_texts = 1}));
  const GenerateOptions text = {.max_tokens = 6, .ignore_end = true};
  const std::vector<TokenId> first = RandomTokens(9, 2), second = RandomTokens(11, 3);
  std::vector<TokenId> forked;
  stepper->Submit({.prompt = first, .sampling = {.temperature = 0}, .text = text});
  const StreamId waits = stepper->Submit({.prompt = second, .sampling = {.temperature = 0}, .text = text});
  Must(stepper->Step());
  stepper->Fork(waits, {.sampling = {.temperature = 0}, .text = text,
                        .on_end = [&](const absl::StatusOr<Generation>& answer) { forked = Must(answer).tokens; }});
  Must(stepper->Run());
  EXPECT_EQ(forked, Alone(second, {.temperature = 0}, text));
}

TEST(StepperFork, OfATextThatHasEndedIsAnError) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  const StreamId stream = stepper->Submit({.prompt = {1, 2}, .text = {.max_tokens = 1}});
  Must(stepper->Run());
  absl::Status status;
  for (const StreamId gone : {stream, StreamId{1234}}) {
    stepper->Fork(gone, {.on_end = [&](const absl::StatusOr<Generation>& answer) { status = answer.status(); }});
    Must(stepper->Run());
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
  }
}

}  // namespace
}  // namespace tessera
