// Text between two threads: nothing is lost, nothing waits on the writing side, and a full queue says so.
#include "tessera/runtime/scheduler/text_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(TextQueue, IsFullUntilTheNextRead) {
  TextQueue queue(4);
  int calls = 0;
  queue.OnRoom([&] { ++calls; });
  queue.Write("abc");
  EXPECT_FALSE(queue.full());
  queue.Write("def");
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.Read(), "abcdef");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(queue.full());
  queue.Write("g");
  EXPECT_EQ(queue.Read(), "g");
  EXPECT_EQ(calls, 1) << "it was not full";
  queue.End();
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(TextQueue, OneThatHoldsJustItsBytesIsFullAndTellsOfRoom) {
  TextQueue queue(4);
  int calls = 0;
  queue.OnRoom([&] { ++calls; });
  queue.Write("abcd");
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.Read(), "abcd");
  EXPECT_EQ(calls, 1) << "whoever writes waits for it";
}

TEST(TextQueue, TextWrittenBeforeTheEndIsRead) {
  TextQueue queue(100);
  queue.Write("last words");
  queue.End();
  EXPECT_EQ(queue.Read(), "last words");
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(TextQueue, ADroppedQueueIsNeverFull) {
  TextQueue queue(2);
  int calls = 0;
  queue.OnRoom([&] { ++calls; });
  queue.Write("abcdef");
  queue.Drop();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(queue.full());
  queue.Write("more");
  EXPECT_FALSE(queue.full());
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(TextQueue, AThreadReadsAllThatAnotherWrites) {
  TextQueue queue(64);
  std::string read;
  std::thread reader([&] {
    while (const std::optional<std::string> text = queue.Read()) read += *text;
  });
  std::string written;
  for (uint64_t i = 0; i < 20000; ++i) {
    const std::string text(1 + CounterRandom(1, 2, i) % 7, static_cast<char>('a' + i % 26));
    while (queue.full()) std::this_thread::yield();
    queue.Write(text);
    written += text;
  }
  queue.End();
  reader.join();
  EXPECT_EQ(read, written);
}

// What a stepper of this engine writes of `tokens`, alone.
std::string Alone(Engine& engine, const std::vector<TokenId>& tokens) {
  const auto stepper = Must(Stepper::Create(engine, {}));
  std::string text;
  stepper->Submit({.prompt = tokens, .sampling = {.temperature = 0}, .text = {.max_tokens = 40, .ignore_end = true},
                   .on_end = [&](const absl::StatusOr<Generation>& answer) { text = Must(answer).text; }});
  Must(stepper->Run());
  return text;
}

TEST(TextQueue, HeaderExample) {
  const auto engine = TinyEngine({}, {});
  const auto stepper = Must(Stepper::Create(*engine, {}));
  const std::vector<TokenId> tokens = {1, 2, 3};
  std::string sent;
  TextQueue output(/*most_bytes=*/4096);
  stepper->Submit({.prompt = tokens, .sampling = {.temperature = 0}, .text = {.max_tokens = 40, .ignore_end = true}, .output = &output});
  std::thread reader([&] {
    while (const std::optional<std::string> text = output.Read()) sent += *text;
  });
  Must(stepper->Run());
  reader.join();
  EXPECT_EQ(sent, Alone(*engine, tokens));
  EXPECT_FALSE(sent.empty());
}

TEST(TextQueue, ASlowReaderSlowsItsOwnTextAlone) {
  const auto engine = TinyEngine({}, {});
  const auto stepper = Must(Stepper::Create(*engine, {}));
  TextQueue slow(/*most_bytes=*/1);
  bool slow_ended = false, fast_ended = false;
  const GenerateOptions text = {.max_tokens = 40, .ignore_end = true};
  const SamplingOptions greedy = {.temperature = 0};
  stepper->Submit({.prompt = {1, 2, 3}, .sampling = greedy, .text = text, .output = &slow,
                   .on_end = [&](const auto&) { slow_ended = true; }});
  stepper->Submit({.prompt = {4, 5}, .sampling = greedy, .text = text, .on_end = [&](const auto&) { fast_ended = true; }});
  while (!fast_ended) ASSERT_TRUE(Must(stepper->Step()));
  EXPECT_TRUE(slow.full()) << "nobody has read it";
  EXPECT_FALSE(slow_ended);
  std::string read;
  std::thread reader([&] {
    while (const std::optional<std::string> part = slow.Read()) read += *part;
  });
  Must(stepper->Run());
  reader.join();
  EXPECT_TRUE(slow_ended);
  EXPECT_EQ(read, Alone(*engine, {1, 2, 3}));
}

TEST(TextQueue, EndsWhereItsTextIsRefusedDroppedOrCancelled) {
  const auto engine = TinyEngine({}, {});
  TextQueue refused(10), running(10), waiting(10), cancelled(1);
  {
    const auto stepper = Must(Stepper::Create(*engine, {.most_texts = 2}));
    stepper->Submit({.prompt = {-1}, .output = &refused});
    stepper->Submit({.prompt = {1, 2}, .output = &running});
    const StreamId stream = stepper->Submit({.prompt = {1, 3}, .text = {.ignore_end = true}, .output = &cancelled});
    Must(stepper->Step());
    EXPECT_EQ(refused.Read(), std::nullopt);
    stepper->Cancel(stream);
    Must(stepper->Step());
    while (cancelled.Read().has_value()) {}
    stepper->Submit({.prompt = {1, 4}, .output = &waiting});
  }
  while (running.Read().has_value()) {}
  EXPECT_EQ(waiting.Read(), std::nullopt);
}

}  // namespace
}  // namespace tessera
