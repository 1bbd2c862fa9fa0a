// A streamed model gives memory back while it writes, and writes the same.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "tessera/base/peak_memory.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/partly_pinned.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

const PackedModel& Packed() {  // About 26 MiB, of which a layer takes 3.
  static const PackedModel packed(
      TinyModelBuilder({.width = 512, .feed_forward = 1536, .heads = 8, .kv_heads = 4, .head_size = 64, .layers = 8}));
  return packed;
}

// Some 8 MiB are pinned.
std::unique_ptr<Engine> PartlyPinned(int cache_tokens = 0) {
  EngineOptions options = {.model_path = Packed().path(),
                           .compute = {.threads = 2, .row_capacity = 8},
                           .cache = {.context = 64, .cache_tokens = cache_tokens}};
  return PartlyPinned(options, /*more_than=*/6 * kMiB, /*beyond_least=*/10 * kMiB);
}

using Logits = std::vector<std::vector<float>>;

// After each token; `before` is called before each of them.
Logits Write(Engine& engine, absl::Span<const TokenId> tokens, const std::function<void(size_t token)>& before = nullptr) {
  const auto session = Must(engine.NewSession());
  Logits all;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (before != nullptr) before(i);
    Must(session->Append(tokens.subspan(i, 1)));
    all.emplace_back(session->logits().begin(), session->logits().end());
  }
  return all;
}

Logits Expected(absl::Span<const TokenId> tokens) {
  return Write(*Must(Engine::Load({.model_path = Packed().path(), .compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}})),
               tokens);
}

// The least it says it does with.
int64_t LeastOf(Engine& engine) {
  const absl::Status refused = engine.ShrinkMemory(0).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  const std::string asked(refused.message());
  const size_t at = asked.find("expected at least ");
  CHECK(at != std::string::npos) << asked;
  return std::stoll(asked.substr(at + 18)) * kMiB;
}

TEST(StreamedTinyModel, GivesMemoryBackBetweenTokensAndWritesTheSame) {
  const std::vector<TokenId> tokens = RandomTokens(12, 1);
  const Logits expected = Expected(tokens);
  const auto engine = PartlyPinned();
  const int64_t least = LeastOf(*engine), budget = least + engine->model().streamer()->stats().pinned_bytes;
  const Logits written = Write(*engine, tokens, [&](size_t token) {
    if (token != 4 && token != 8) return;
    const LayerStreamer::Stats before = engine->model().streamer()->stats();
    const int64_t own = *OwnMemoryBytes();
    const BudgetPlan plan = Must(engine->ShrinkMemory(token == 4 ? (budget + least) / 2 : least));
    const LayerStreamer::Stats after = engine->model().streamer()->stats();
    EXPECT_EQ(after.pinned_bytes, plan.weights.pins.bytes);
    EXPECT_EQ(after.streamed_bytes, plan.weights.streamed_bytes);
    EXPECT_EQ(engine->memory().weights, plan.memory.weights);
    EXPECT_EQ(after.ring_bytes, before.ring_bytes);
    EXPECT_LT(after.pinned_bytes, before.pinned_bytes);
    EXPECT_LE(plan.Total(), plan.budget);
    if (!kSanitized) {
      EXPECT_LE(*OwnMemoryBytes(), own - (before.pinned_bytes - after.pinned_bytes) + kMiB / 2);
    }
  });
  EXPECT_EQ(written, expected);
  EXPECT_LT(engine->model().streamer()->stats().pinned_bytes, kMiB) << "the least is in whole MiB";
  EXPECT_EQ(Write(*engine, tokens), expected) << "a new text";
}

TEST(StreamedTinyModel, GivesMemoryBackDuringPassesAndWritesTheSame) {
  const std::vector<TokenId> tokens = RandomTokens(20, 2);
  const Logits expected = Expected(tokens);
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto engine = PartlyPinned();
    const int64_t least = LeastOf(*engine);
    std::thread shrinks;
    std::atomic<bool> is_written = false;
    const auto used = [&] { return engine->model().streamer()->stats().bytes_used; };
    const Logits written = Write(*engine, tokens, [&](size_t token) {
      if (token != 2) return;
      shrinks = std::thread([&] {
        for (int64_t more = engine->model().streamer()->stats().pinned_bytes; more >= 0; more -= kMiB) {
          const int64_t before = used();
          Must(engine->ShrinkMemory(least + more).status());
          EXPECT_TRUE(Await([&] { return is_written || used() > before + repetition * kMiB; }));   // The pass goes on.
        }
      });
    });
    is_written = true;
    shrinks.join();
    EXPECT_EQ(written, expected);
    EXPECT_LT(engine->model().streamer()->stats().pinned_bytes, 2 * kMiB);
  }
}

const SamplingOptions kGreedy = {.temperature = 0};

// Texts that end, and leave their prefixes in the cache.
void LeavePrefixes(Engine& engine, Stepper& stepper) {
  for (int text = 0; text < 16; ++text) {
    stepper.Submit({.prompt = RandomTokens(40, 100 + text), .sampling = kGreedy, .text = {.max_tokens = 2}});
  }
  Must(stepper.Run());
  EXPECT_GT(CoreOf(engine).prefixes().size(), 10);
}

// What a session writes, in an engine of its own.
std::vector<TokenId> Alone(const std::vector<TokenId>& prompt, int tokens) {
  const auto engine = PartlyPinned();
  const auto session = Must(engine->NewSession());
  Must(session->Append(prompt));
  return Must(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = tokens, .ignore_end = true})).tokens;
}

// Beginnings of ended texts, a running text, a smaller budget: prefixes go first, then weights, and the text is what it is alone.
TEST(StreamedTinyModel, GivesPrefixesUpBeforeWeights) {
  const auto engine = PartlyPinned(/*cache_tokens=*/1024);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  LeavePrefixes(*engine, *stepper);

  const int64_t pinned = engine->model().streamer()->stats().pinned_bytes;
  const std::vector<TokenId> prompt = RandomTokens(20, 7);
  std::vector<TokenId> written;
  stepper->Submit({.prompt = prompt, .sampling = kGreedy, .text = {.max_tokens = 30, .ignore_end = true},
                   .on_end = [&](const absl::StatusOr<Generation>& answer) { written = Must(answer).tokens; }});
  for (int step = 0; step < 6; ++step) ASSERT_TRUE(Must(stepper->Step()));
  const BudgetPlan whole = Must(engine->ShrinkMemory(int64_t{1} << 40));
  const BudgetPlan less = Must(engine->ShrinkMemory(whole.Total() - 2 * kMiB));
  EXPECT_LE(less.memory.cache, whole.memory.cache - 2 * kMiB);
  EXPECT_EQ(engine->memory().cache, less.memory.cache);
  EXPECT_EQ(engine->model().streamer()->stats().pinned_bytes, pinned) << "there was enough without";
  EXPECT_TRUE(absl::IsResourceExhausted(engine->ShrinkMemory(0).status()));
  EXPECT_EQ(engine->memory().cache, less.memory.cache) << "what is refused changes nothing";
  const BudgetPlan least = Must(engine->ShrinkMemory(LeastOf(*engine)));
  EXPECT_LT(least.weights.pins.bytes, pinned);
  EXPECT_LT(least.memory.cache, whole.memory.cache / 4) << "a context, and what the text holds";
  Must(stepper->Run());
  EXPECT_EQ(written, Alone(prompt, 30));
}

// Another thread takes the core while a pass gives tokens to two texts, and changes the cache before the second one takes its first token:
// it gives up the beginning that this text shares. Made for the thread sanitizer: the wait hands nothing on, so a text that looks at the
// cache then, without the core, is a race.
TEST(StreamedTinyModel, GivesPrefixesUpBetweenTheTokensOfAPass) {
  const auto engine = PartlyPinned(/*cache_tokens=*/1024);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  LeavePrefixes(*engine, *stepper);
  const int64_t budget = LeastOf(*engine) + kMiB;   // Both texts are more than a context.
  std::thread shrinks;
  std::atomic<bool> shrunk = false;
  bool due = false;
  std::vector<TokenId> first, second;
  const auto shrink_if_due = [&](TokenId token, absl::Span<const float>) {
    first.push_back(token);
    if (!std::exchange(due, false)) return;
    shrinks = std::thread([&] {
      Must(engine->ShrinkMemory(budget).status());
      shrunk.store(true, std::memory_order_relaxed);
    });
    while (!shrunk.load(std::memory_order_relaxed)) std::this_thread::yield();
  };
  const auto keep = [&](TokenId token, absl::Span<const float>) { second.push_back(token); };
  const std::vector<TokenId> prompt = RandomTokens(24, 7);
  std::vector<TokenId> begun = RandomTokens(40, 110);   // One of the prefixes.
  begun.push_back(5);
  stepper->Submit({.prompt = prompt, .sampling = kGreedy, .text = {.max_tokens = 30, .ignore_end = true, .on_token = shrink_if_due}});
  while (first.size() < 3) ASSERT_TRUE(Must(stepper->Step()));   // By now it is known what passes take.
  stepper->Submit({.prompt = begun, .sampling = kGreedy, .text = {.max_tokens = 10, .ignore_end = true, .on_token = keep}});
  due = true;
  EXPECT_TRUE(Must(stepper->Step()));
  EXPECT_FALSE(due);
  EXPECT_EQ(second.size(), 1u) << "both texts are in one pass, and the second has but one token to read";
  EXPECT_EQ(CoreOf(*engine).prefixes().size(), 0);
  Must(stepper->Run());
  if (shrinks.joinable()) shrinks.join();
  EXPECT_EQ(first, Alone(prompt, 30));
  EXPECT_EQ(second, Alone(begun, 10));
}

TEST(StreamedTinyModel, RefusesToShrinkBelowTheLeastAndChangesNothing) {
  const std::vector<TokenId> tokens = RandomTokens(3, 3);
  const auto engine = PartlyPinned();
  const int64_t least = LeastOf(*engine), pinned = engine->model().streamer()->stats().pinned_bytes;
  EXPECT_EQ(engine->ShrinkMemory(least - kMiB).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine->ShrinkMemory(-1).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Must(engine->ShrinkMemory(int64_t{1} << 40)).budget, engine->options().streaming.memory_budget) << "it does not grow";
  EXPECT_EQ(engine->model().streamer()->stats().pinned_bytes, pinned);
  EXPECT_EQ(Must(engine->ShrinkMemory(least)).budget, least) << "what it says works";
  EXPECT_EQ(Write(*engine, tokens), Expected(tokens));
}

// Nothing is streamed, so there is no ring: a table of which parts are read is all that can go.
TEST(StreamedTinyModel, AFullyPinnedEngineGivesItsTableBackAndNoMore) {
  const std::vector<TokenId> tokens = RandomTokens(3, 4);
  EngineOptions options = {.model_path = Packed().path(), .compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}};
  options.streaming.memory_budget = int64_t{4} << 30;
  const auto engine = Must(Engine::Load(options));
  ASSERT_EQ(engine->model().streamer()->stats().ring_bytes, 0);
  const int64_t pinned = engine->model().streamer()->stats().pinned_bytes;
  const BudgetPlan all = Must(engine->ShrinkMemory(options.streaming.memory_budget));
  const BudgetPlan plan = Must(engine->ShrinkMemory(all.Total() - 1));
  EXPECT_LT(engine->model().streamer()->stats().pinned_bytes, pinned);
  EXPECT_EQ(engine->model().streamer()->stats().streamed_bytes, 0);
  EXPECT_EQ(engine->ShrinkMemory(plan.Total() - 1).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Write(*engine, tokens), Expected(tokens));
}

TEST(StreamedTinyModel, WithoutABudgetThereIsNothingToShrink) {
  const auto engine = Must(Engine::Load({.model_path = Packed().path(), .compute = {.threads = 1}, .cache = {.context = 64}}));
  EXPECT_EQ(engine->ShrinkMemory(kMiB).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tessera
