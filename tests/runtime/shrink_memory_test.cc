// A streamed model gives memory back while it writes, and writes the same.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tessera/base/peak_memory.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/runtime/engine.h"
#include "tessera/runtime/stepper.h"
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
    const Logits written = Write(*engine, tokens, [&](size_t token) {
      if (token != 2) return;
      shrinks = std::thread([&] {
        for (int64_t more = engine->model().streamer()->stats().pinned_bytes; more >= 0; more -= kMiB) {
          Must(engine->ShrinkMemory(least + more).status());
          std::this_thread::sleep_for(std::chrono::milliseconds(1 + repetition));
        }
      });
    });
    shrinks.join();
    EXPECT_EQ(written, expected);
    EXPECT_LT(engine->model().streamer()->stats().pinned_bytes, 2 * kMiB);
  }
}

// Beginnings of ended texts, a running text, a smaller budget: beginnings go first, then weights, and the text is what it is alone.
TEST(StreamedTinyModel, GivesBeginningsUpBeforeWeights) {
  const auto engine = PartlyPinned(/*cache_tokens=*/1024);
  const auto stepper = Must(Stepper::Create(*engine, {}));
  const SamplingOptions greedy = {.temperature = 0};
  for (int text = 0; text < 16; ++text) {
    stepper->Submit({.prompt = RandomTokens(40, 100 + text), .sampling = greedy, .text = {.max_tokens = 2}});
  }
  Must(stepper->Run());
  EXPECT_GT(CoreOf(*engine).beginnings().size(), 10);

  const int64_t pinned = engine->model().streamer()->stats().pinned_bytes;
  const std::vector<TokenId> prompt = RandomTokens(20, 7);
  std::vector<TokenId> written;
  stepper->Submit({.prompt = prompt, .sampling = greedy, .text = {.max_tokens = 30, .ignore_end = true},
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

  const auto alone = PartlyPinned();
  const auto session = Must(alone->NewSession());
  Must(session->Append(prompt));
  EXPECT_EQ(written, Must(Generate(*session, Must(Sampler::Create(greedy)), {.max_tokens = 30, .ignore_end = true})).tokens);
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
TEST(StreamedTinyModel, AllPinnedItGivesItsTableBackAndNoMore) {
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
