// What a stepper's texts owe each other, and what it owes to other calls on its engine: nobody is held up by a reader, a prompt, an adapter
// or a thread that is not his own.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/prefix_index.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/scheduler/text_queue.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

TEST(StepperCompany, AnAdapterOfAnotherModelEndsItsTextAlone) {
  const auto engine = SmallEngine();
  ModelConfig deeper = engine->config(), wider = engine->config();
  deeper.layers.push_back(deeper.layers[0]);
  wider.feed_forward += 32;
  const LoraAdapter layers = RandomAdapter(deeper, /*rank=*/2, kAllTargets, /*seed=*/1);
  const LoraAdapter shapes = RandomAdapter(wider, /*rank=*/2, kAllTargets, /*seed=*/1);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  for (int number = 0; number < 3; ++number) {
    StreamOptions options = TextNumber(number);
    options.adapter = number == 0 ? &layers : number == 1 ? &shapes : nullptr;
    options.on_end = answers.Keep(number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_EQ(answers.errors[0].message(), "layers of its adapter: found 3, expected 2");
  EXPECT_EQ(answers.errors[1].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answers.texts[2].tokens, Alone(TextNumber(2)).tokens);
}

// A text that has written as much as its reader takes fills the cache, so that the next one finds no room.
TEST(StepperCompany, AReaderThatHasStoppedStopsNoOtherText) {
  for (const int other_tokens : {60, 10}) {   // It waits for room, or is let in and grows until there is none.
    const auto engine = SmallEngine(/*context=*/96);
    TextQueue output(/*most_bytes=*/1);
    const auto stepper = Must(Stepper::Create(*engine, {}));
    StreamOptions stopped = TextNumber(2, /*tokens=*/40), other = TextNumber(4, /*tokens=*/80 - other_tokens);
    stopped.prompt = RandomTokens(50, 1);
    stopped.output = &output;
    other.prompt = RandomTokens(other_tokens, 2);
    const StreamOptions as_alone = {.prompt = other.prompt, .sampling = other.sampling, .text = other.text};
    Answers answers;
    other.on_end = answers.Keep(0);
    stopped.on_end = answers.Keep(1);
    const std::vector<TokenId> prompt = stopped.prompt;
    const StreamOptions stopped_alone = {.prompt = stopped.prompt, .sampling = stopped.sampling, .text = stopped.text};
    stepper->Submit(std::move(stopped));
    stepper->Submit(std::move(other));
    for (int step = 0; step < 200 && answers.texts.empty(); ++step) Must(stepper->Step().status());
    ASSERT_EQ(answers.texts.size(), 1u) << other_tokens;
    EXPECT_EQ(answers.texts[0].tokens, Alone(as_alone).tokens);
    for (bool more = true; more; more = Must(stepper->Step())) {
      if (output.full()) output.Read();
    }
    EXPECT_EQ(answers.texts[1].tokens, Alone(stopped_alone).tokens);
  }
}

// A session's end waits for the core: it must not come while a step holds that.
TEST(StepperCompany, CallbacksOfCallersMayHoldSessions) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  int ends = 0;
  for (const bool right : {true, false}) {
    StreamOptions options = TextNumber(1, /*tokens=*/3);
    if (!right) options.prompt = {-1};
    std::shared_ptr<Session> session = Must(engine->NewSession());
    Must(session->Append({1, 2}));
    options.on_end = [&ends, session = std::move(session)](const absl::StatusOr<Generation>&) { ++ends; };
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  EXPECT_EQ(ends, 2);
}

TEST(StepperCompany, AStepWaitsForCallsOfOtherThreads) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {}));
  Answers answers;
  StreamOptions options = TextNumber(1);
  options.on_end = answers.Keep(1);
  stepper->Submit(std::move(options));
  std::optional<EngineCore::Hold> hold = Must(CoreOf(*engine).TryHold());
  std::atomic<pid_t> thread = 0;
  std::thread other([&] {
    thread = gettid();
    Must(stepper->Run());
  });
  EXPECT_TRUE(Await([&] { return IsAsleep(thread); }));
  hold.reset();
  other.join();
  EXPECT_EQ(answers.texts[1].tokens, Alone(TextNumber(1)).tokens);
}

TEST(StepperCompany, ACallWithinAPassIsRefusedAndDisturbsNoText) {
  const auto engine = SmallEngine();
  const auto stepper = Must(Stepper::Create(*engine, {})), second = Must(Stepper::Create(*engine, {}));
  const auto session = Must(engine->NewSession());
  Answers answers;
  for (int number = 0; number < 3; ++number) {
    StreamOptions options = TextNumber(number);
    options.text.on_token = [&](TokenId, absl::Span<const float>) {
      EXPECT_EQ(session->Append({1}).code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_EQ(second->Step().status().code(), absl::StatusCode::kFailedPrecondition);
    };
    options.on_end = [&, keep = answers.Keep(number)](const absl::StatusOr<Generation>& result) {
      keep(result);
      Must(session->Append({1}));   // No pass is under way, but a step.
      EXPECT_EQ(stepper->Step().status().code(), absl::StatusCode::kFailedPrecondition);
    };
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  for (int number = 0; number < 3; ++number) EXPECT_EQ(answers.texts[number].tokens, Alone(TextNumber(number)).tokens) << number;
}

TEST(StepperCompany, PrefixesGiveWayToALoadedSession) {
  const TemporaryFolder folder;
  const auto engine = SmallEngine(/*context=*/96);
  const std::vector<TokenId> tokens = RandomTokens(64, 3);
  {
    const auto session = Must(engine->NewSession());
    Must(session->Append(tokens));
    Must(SaveSession(*session, folder.Path("session"), ""));
  }
  const auto stepper = Must(Stepper::Create(*engine, {}));
  for (int number = 0; number < 4; ++number) {
    StreamOptions options = TextNumber(number);
    options.prompt = RandomTokens(70, 100 + number);
    stepper->Submit(std::move(options));
  }
  Must(stepper->Run());
  ASSERT_GT(CoreOf(*engine).prefixes().held(), 32);
  const LoadedSession loaded = Must(LoadSession(*engine, folder.Path("session"), {}));
  EXPECT_EQ(loaded.session->length(), 64);
}

// Where windows are given up, a longer beginning cannot be cut where a shorter one ends.
TEST(StepperCompany, AnExtendablePrefixIsKeptBesideALongerPrefixThatLostItsWindows) {
  const auto cache = Must(KvCache::Create({.layers = 2, .heads = 1, .head_size = 16, .slots = 128, .windows = {0, 8}, .largest_pass = 8,
                                           .sequences = 1}));
  const std::vector<TokenId> tokens = RandomTokens(60, 1);
  const auto held = [&](int count) {
    auto text = std::make_unique<CachedText>(*cache);
    text->Append(absl::MakeConstSpan(tokens).subspan(0, count));
    std::vector<PassRow> rows;
    while (text->held() < text->length()) {
      const int chunk = std::min(8, text->length() - text->held());
      Must(cache->MakeRoom(chunk));
      Must(text->PlaceNext(chunk, nullptr, rows));
    }
    return text;
  };
  std::vector<TokenId> prompt(tokens.begin(), tokens.begin() + 16);
  prompt.push_back(255 - tokens[16]);
  for (const bool longer_first : {true, false}) {
    PrefixIndex prefixes;
    prefixes.Keep(held(longer_first ? 60 : 16), 0);
    prefixes.Keep(held(longer_first ? 16 : 60), 0);
    const auto begun = prefixes.Take(prompt, 0);
    ASSERT_NE(begun, nullptr);
    EXPECT_EQ(begun->held(), 16);
  }
}

}  // namespace
}  // namespace tessera
