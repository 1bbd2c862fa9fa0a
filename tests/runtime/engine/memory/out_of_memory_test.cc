// Where memory ends within a session's call, the call says so and the process goes on: each allocation fails once, in its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/runtime/allocations.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

Speculator Drafts() { return Speculator(std::make_unique<RandomDrafter>(256, 3), {.max_rows = 6, .weigh_costs = false}); }

// What a program does with a session: a prompt, a fork, text with drafts. From `arm` on, an allocation fails.
absl::StatusOr<std::vector<TokenId>> WriteText(Engine& engine, const std::function<void()>& arm) {
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  Speculator speculator = Drafts();
  arm();
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  RETURN_IF_ERROR(session->Append({1, 2, 3, 4, 5}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> fork, session->Fork(3));
  RETURN_IF_ERROR(fork->AppendEach({6, 7}, [](int, absl::Span<const float>) { return absl::OkStatus(); }));
  ASSIGN_OR_RETURN(Generation written, Generate(*session, sampler, {.max_tokens = 6, .ignore_end = true, .speculator = &speculator}));
  return std::move(written.tokens);
}

// Texts that begin alike, with drafts and without, and do not fit into the cache together: prefixes are kept, taken and given up, and
// texts are set back.
absl::StatusOr<std::vector<TokenId>> StepTexts(Engine& engine, const std::function<void()>& arm) {
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(engine, {}));
  Speculator speculator = Drafts();
  std::vector<std::vector<TokenId>> written(4);
  std::vector<TokenId> all;
  all.reserve(100);   // Not after `arm`: an allocation of the test itself may not be the one that fails.
  for (int number = 0; number < 4; ++number) {
    std::vector<TokenId> prompt = RandomTokens(number < 3 ? 20 : 30, number < 3 ? 1 : 2);
    prompt.push_back(number);
    stepper->Submit({.prompt = std::move(prompt), .sampling = {.temperature = 0},
                     .text = {.max_tokens = 14, .ignore_end = true, .speculator = number == 1 ? &speculator : nullptr},
                     .on_end = [&written, number](const absl::StatusOr<Generation>& result) {
                       if (result.ok()) written[number] = result->tokens;
                     }});
  }
  arm();
  RETURN_IF_ERROR(stepper->Run());
  for (const std::vector<TokenId>& one : written) all.insert(all.end(), one.begin(), one.end());
  return all;
}

// Where reading has ended for want of memory, other calls may still succeed; no call ends the process.
void ExpectLost(Engine& engine, Session& session) {
  EXPECT_EQ(session.Append({1}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(session.PassTree(TokenTree(1)).code(), absl::StatusCode::kResourceExhausted);
  for (const absl::Status& status : {session.Fork(0).status(), engine.NewSession().status()}) {
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted) << status;
  }
  session.Truncate(0);
  EXPECT_EQ(session.length(), 0);
}

// `make` gives a new engine, since a lost one stays lost. One in so many of the later allocations fails, each of the first ones.
template <typename Make, typename Write>
void FailEachAllocation(Make make, Write write, int64_t most_each = std::numeric_limits<int64_t>::max()) {
  std::vector<TokenId> expected;
  std::unique_ptr<Engine> engine = make();
  std::unique_ptr<Session> other = Must(engine->NewSession());
  int64_t failures = 0;
  for (int64_t number = 0;; number += 1 + number / most_each) {  // 0: none fails.
    SCOPED_TRACE(number);
    int64_t before = 0;
    const absl::StatusOr<std::vector<TokenId>> written = write(*engine, [&] {
      before = Allocations();  // First: a thread that reads ahead may allocate at any time.
      FailAllocation(number);
    });
    const bool reached = Allocations() - before >= number;
    FailAllocation(0);
    if (number == 0) expected = Must(written);
    if (!reached) break;
    if (written.ok()) {  // What could do without.
      EXPECT_EQ(*written, expected);
      continue;
    }
    ++failures;
    ASSERT_EQ(written.status().code(), absl::StatusCode::kResourceExhausted) << written.status();
    ExpectLost(*engine, *other);
    engine = make();
    other = Must(engine->NewSession());
  }
  EXPECT_GT(failures, 50);
}

TEST(OutOfMemory, IsAnErrorOfTheCallAndOfAllLaterOnes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has operators of its own";
  const auto make = [] { return TinyEngine({.layers = 2}, {.compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}}); };
  FailEachAllocation(make, WriteText);
}

TEST(OutOfMemory, IsAnErrorOfAStepAndOfAllLaterOnes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has operators of its own";
  const auto make = [] { return TinyEngine({.layers = 2}, {.compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}}); };
  FailEachAllocation(make, StepTexts, /*most_each=*/100);
  const PackedModel windowed(TinyModelBuilder({.architecture = "gemma3", .layers = 7, .window = 6}));
  const EngineOptions options = {.model_path = windowed.path(), .compute = {.threads = 1, .row_capacity = 8}, .cache = {.context = 64}};
  FailEachAllocation([&] { return Must(Engine::Load(options)); }, StepTexts, /*most_each=*/100);
}

TEST(OutOfMemory, IsAnErrorWhereWeightsAreStreamed) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has operators of its own";
  const PackedModel model(TinyModelBuilder({.layers = 2}));
  EngineOptions options = {.model_path = model.path(), .compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}};
  for (const IoKind io : {IoKind::kAuto, IoKind::kPread}) {
    options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kNone, .io = io};
    const auto make = [&] { return Must(Engine::Load(options)); };
    FailEachAllocation(make, WriteText);
  }
}

// So a destructor can do it. Texts share prefixes and one has a draft placed; they end in any order.
TEST(OutOfMemory, EndingATextAllocatesNothing) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has operators of its own";
  const std::unique_ptr<KvCache> cache = Must(KvCache::Create(
      {.layers = 2, .heads = 1, .head_size = 16, .slots = 512, .windows = {0, 32}, .largest_pass = 16, .sequences = 4}));
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    uint64_t draws = 0;
    const auto below = [&](size_t end) { return static_cast<int>(CounterRandom(seed, 1, draws++) % end); };
    std::vector<std::unique_ptr<CachedText>> texts;
    texts.push_back(std::make_unique<CachedText>(*cache));
    std::vector<PassRow> rows;
    for (int step = 0; step < 24; ++step) {
      CachedText& text = *texts[below(texts.size())];
      text.MakeExtendable();
      const int count = std::min(text.length() + 1 - text.held(), 16);
      text.Append({step});
      if (!cache->MakeRoom(count).ok()) break;
      Must(text.PlaceNext(count, /*adapter=*/nullptr, rows));
      texts.push_back(Must(text.Fork(below(text.length() + 1))));
    }
    CachedText drafting(*cache);
    Must(cache->MakeRoom(3));
    TokenTree tree(5);
    tree.Add(TokenTree::kRoot, 6, 0.5f);
    tree.Add(TokenTree::kRoot, 7, 0.5f);
    Must(drafting.PlaceTree(tree, /*adapter=*/nullptr, rows));
    const int64_t before = Allocations();
    drafting.Release();
    for (; !texts.empty(); texts.pop_back()) {
      std::swap(texts[below(texts.size())], texts.back());
      texts.back()->Release();
    }
    EXPECT_EQ(Allocations(), before);
    EXPECT_EQ(cache->free_slots(), cache->slots());
  }
}

}  // namespace
}  // namespace tessera
