// Threads around a stepper: texts are submitted and cancelled, and memory is given back, while passes run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/lone_text.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/partly_pinned.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/small_texts.h"

namespace tessera {
namespace {

// One writes it until its end, another reads it afterwards.
struct Told {
  StreamOptions asked;
  std::atomic<int> ends = 0;
  std::atomic<bool> cancelled = false;
  std::vector<uint32_t> logits;
  absl::StatusOr<Generation> result = absl::UnknownError("not ended");
};

StreamOptions Observed(Told& told) {
  StreamOptions options = told.asked;
  options.text.on_token = [&told](TokenId, absl::Span<const float> logits) { told.logits.push_back(DigestOf(logits)); };
  options.on_end = [&told](const absl::StatusOr<Generation>& result) {
    told.result = result;
    ++told.ends;
  };
  return options;
}

void ExpectAsAlone(const Told& told, LoneWriter& alone) {
  ASSERT_EQ(told.ends, 1);
  const Generation& written = Must(told.result);
  const LoneText expected = alone.Write(told.asked);
  if (written.reason == FinishReason::kCancelled) {
    EXPECT_TRUE(told.cancelled);
    ASSERT_LE(written.tokens.size(), expected.tokens.size());
    EXPECT_TRUE(std::equal(told.logits.begin(), told.logits.end(), expected.logits.begin()));
    return;
  }
  EXPECT_EQ(written.tokens, expected.tokens);
  EXPECT_EQ(told.logits, expected.logits);
  EXPECT_EQ(written.text, expected.text);
  EXPECT_EQ(written.reason, expected.reason);
}

// Each thread submits its texts and cancels every third, some at once and some while they are written. One more thread does `beside`, again
// once rows were computed.
void WriteFromThreads(Engine& engine, LoneWriter& alone, int threads, int texts, const std::function<void(int turn)>& beside) {
  const auto stepper = Must(Stepper::Create(engine, {}));
  std::vector<Told> told(static_cast<size_t>(threads * texts));
  std::atomic<int> working = threads;
  std::atomic<bool> ended = false;
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      for (int number = thread * texts; number < (thread + 1) * texts; ++number) {
        told[number].asked = TextNumber(number, 4 + number % 17);
        told[number].cancelled = number % 3 == 0;
        const StreamId id = stepper->Submit(Observed(told[number]));
        if (number % 2 == 0) std::this_thread::yield();
        if (number % 3 == 0) stepper->Cancel(id);
      }
      --working;
    });
  }
  std::thread other([&] {
    for (int turn = 0; working > 0 || turn < 20; ++turn) {
      const int64_t rows = engine.stats().rows;
      beside(turn);
      EXPECT_TRUE(Await([&] { return ended || engine.stats().rows > rows; }));
    }
  });
  while (working > 0) Must(stepper->Step().status());
  Must(stepper->Run());
  ended = true;
  for (std::thread& worker : workers) worker.join();
  other.join();
  Must(stepper->Run());   // What was submitted after the last look.
  EXPECT_FALSE(Must(stepper->Step()));
  for (size_t number = 0; number < told.size(); ++number) {
    SCOPED_TRACE(number);
    ExpectAsAlone(told[number], alone);
  }
}

TEST(StepperThreads, TextsSubmittedAndCancelledFromManyThreadsEndOnceAndAreAsAlone) {
  const TemporaryFolder folder;
  const EngineOptions options = {.model_path = folder.Path("tiny.gguf"), .compute = {.threads = 2, .row_capacity = 16},
                                 .cache = {.context = 96}};
  TinyModelBuilder({.layers = 2, .writes_letters = true}).WriteTo(options.model_path);
  const auto engine = Must(Engine::Load(options));
  LoneWriter alone(options);
  WriteFromThreads(*engine, alone, /*threads=*/3, Fewer(60, 15), [&](int) { EXPECT_GE(engine->stats().rows, 0); });
}

TEST(StepperThreads, MemoryIsGivenBackWhileTextsAreWritten) {
  const PackedModel packed(TinyModelBuilder({.width = 256, .feed_forward = 768, .heads = 8, .kv_heads = 4, .head_size = 32, .layers = 8,
                                             .writes_letters = true}));
  EngineOptions options = {.model_path = packed.path(), .compute = {.threads = 2, .row_capacity = 16},
                           .cache = {.context = 96, .cache_tokens = 4 * 96}};   // Which shrinks, too.
  LoneWriter alone(options);
  const auto engine = PartlyPinned(options);
  const int64_t pinned = engine->model().streamer()->stats().pinned_bytes;
  WriteFromThreads(*engine, alone, /*threads=*/2, Fewer(24, 8), [&](int turn) {
    const absl::Status status = engine->ShrinkMemory(options.streaming.memory_budget - turn * (int64_t{128} << 10)).status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;   // It has a least, which the rings of a pass take.
  });
  EXPECT_LT(engine->model().streamer()->stats().pinned_bytes, pinned);
}

}  // namespace
}  // namespace tessera
