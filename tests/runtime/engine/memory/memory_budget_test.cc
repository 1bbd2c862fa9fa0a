// What grows while an engine works under a budget: keys and values, and a store of old texts. Neither takes more than was planned for it.
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "tessera/base/peak_memory.h"
#include "tessera/runtime/draft/vocabulary_of.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kContext = 2048;

// The most memory that is this process's own from here on. Pages of files are left out as they are now: code, which others share.
class OwnPeak {
 public:
  OwnPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }
  int64_t bytes() const {
    std::ifstream status("/proc/self/status");
    int64_t files = 0;
    for (std::string word; status >> word;) {
      if (word == "RssFile:") status >> files;
    }
    return *PeakMemoryBytes() - files * 1024;
  }
};

// A token takes 16 KiB of the cache, more than it takes of anything else.
const PackedModel& Packed() {
  static const PackedModel packed(TinyModelBuilder({.width = 128, .heads = 8, .kv_heads = 8, .head_size = 256, .context = kContext}));
  return packed;
}

EngineOptions Options(int sessions) {
  return {.model_path = Packed().path(),
          .compute = {.threads = 2, .row_capacity = 64},
          .cache = {.context = kContext},
          .workload = {.sessions = sessions}};
}

// With the least that works.
std::unique_ptr<Engine> Budgeted(EngineOptions options) {
  for (int tries = 0; tries < 20; ++tries) {  // What a process has of its own grows from engine to engine.
    options.streaming.memory_budget = Must(Must(Engine::Open(options))->planner().PlanBudget(int64_t{1} << 40)).least;
    auto engine = Must(Engine::Open(options));
    if (!engine->planner().PlanBudget(options.streaming.memory_budget).ok()) continue;
    Must(engine->LoadWeights());
    return engine;
  }
  LOG(FATAL) << "no budget is enough";
}

std::vector<float> LogitsOf(const Session& session) { return {session.logits().begin(), session.logits().end()}; }

TEST(MemoryBudget, ACacheThatIsFullRefusesTheRequestAndTheEngineGoesOn) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const std::vector<TokenId> text = RandomTokens(kContext, 1), other = RandomTokens(kContext, 2);
  std::vector<float> expected;
  {
    const auto resident = Must(Engine::Load(Options(2)));
    const auto session = Must(resident->NewSession());
    Must(session->Append(text));
    expected = LogitsOf(*session);
  }
  const auto engine = Budgeted(Options(2));
  const int64_t cache = engine->memory().cache;
  ASSERT_GE(cache, 32 * kMiB);
  const OwnPeak peak;
  const int64_t before = *OwnMemoryBytes();
  const auto first = Must(engine->NewSession());
  auto second = Must(engine->NewSession());
  Must(first->Append(absl::MakeConstSpan(text).first(1500)));
  Must(second->Append(absl::MakeConstSpan(other).first(500)));
  const std::vector<float> after_first = LogitsOf(*first), after_second = LogitsOf(*second);
  for (int i = 0; i < 20; ++i) {  // All of them together would be 125 MiB.
    for (const auto& session : {first.get(), second.get()}) {
      const absl::Status refused = session->Append(absl::MakeConstSpan(other).first(200));
      ASSERT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
      ASSERT_TRUE(absl::StartsWith(refused.message(), "KV cache: wanted ")) << refused;
    }
  }
  EXPECT_EQ(first->length(), 1500);
  EXPECT_EQ(LogitsOf(*first), after_first);
  EXPECT_EQ(LogitsOf(*second), after_second);
  second.reset();
  Must(first->Append(absl::MakeConstSpan(text).subspan(1500)));
  EXPECT_EQ(LogitsOf(*first), expected);
  EXPECT_EQ(first->Append({1}).code(), absl::StatusCode::kResourceExhausted) << "the context is full";
  EXPECT_GE(peak.bytes(), before + cache / 2) << "nothing was measured";
  EXPECT_LE(peak.bytes(), engine->options().streaming.memory_budget);
}

TEST(MemoryBudget, AStoreThatIsFullForgetsItsOldestTextsWithinItsShare) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  constexpr int64_t kStore = 16 * kMiB;
  constexpr int kTexts = 1000, kTokens = 500;  // Some ten times what fits: 100 MiB.
  const TemporaryFolder folder;
  EngineOptions options = Options(1);
  options.workload.drafting_bytes = [](int, int) { return kStore; };
  const auto engine = Budgeted(options);
  const OwnPeak peak;
  const int64_t before = *OwnMemoryBytes();
  const std::shared_ptr<HistoryStore> store =
      Must(HistoryStore::Open(folder.path(), "full", VocabularyOf(engine->tokenizer()), {.max_bytes = kStore}));
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(kContext, 1)));
  for (int i = 0; i < kTexts; ++i) {
    store->Add({}, RandomTokens(kTokens, i));
    ASSERT_LE(store->bytes(), kStore);
    if (i % 100 == 0) {
      ASSERT_TRUE(store->Save().ok());
    }
  }
  EXPECT_LT(store->tokens(), int64_t{kTexts} * kTokens / 5) << "nothing was forgotten";
  const std::vector<TokenId> newest = RandomTokens(kTokens, kTexts - 1);
  store->Read([&](const SuffixAutomaton& texts, int64_t) {
    const absl::Span<const TokenId> kept = texts.tokens();
    ASSERT_GT(kept.size(), newest.size());
    EXPECT_EQ(kept.subspan(kept.size() - 1 - newest.size(), newest.size()), absl::MakeConstSpan(newest));
  });
  session->Truncate(0);
  Must(session->Append({1, 2, 3}));
  EXPECT_GE(peak.bytes(), before + engine->memory().cache / 2) << "nothing was measured";
  EXPECT_LE(peak.bytes(), engine->options().streaming.memory_budget);
}

}  // namespace
}  // namespace tessera
